"""Faults with files behind URLs: they are refused, not fetched, or of the wrong size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.hooks import CannedResponse, Refusal
from reference_server.faults.topics.media.parts import IMAGES, KINDS, count_parts, edit_parts, media_fault, takes_media

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ServedRequest


def _has_url(request: ServedRequest, types: tuple[str, ...]) -> bool:
    return count_parts(request, types) > 0 and b"://" in request.body


def _refuse_urls(request: ServedRequest) -> None:
    if _has_url(request, IMAGES):
        raise Refusal("invalid_request", "image_url: expected base64")


def fetches(contract: Contract) -> bool:
    return takes_media(contract) and "media_urls" in contract.capabilities


def limits_sizes(contract: Contract) -> bool:
    return fetches(contract) and "media.largest-image-accepted" in contract.requirements


URLS: Final = ("media", "media_urls")

urls_refused = media_fault(
    "media-urls-refused", "URLs of images are refused.", request=_refuse_urls, applies_to=fetches, declares=URLS
)


def _fail_at_redirects(request: ServedRequest) -> CannedResponse | None:
    if _has_url(request, IMAGES) and b"/redirect/" in request.body:
        return CannedResponse(500, b'{"error":"302 Found"}')
    return None


redirects_break_the_server = media_fault(
    "media-redirects-fail",
    "The URL of a redirect gets a 500.",
    request=_fail_at_redirects,
    applies_to=fetches,
    declares=URLS,
)


def _ignore_missing(request: ServedRequest) -> None:
    edit_parts(request, lambda _, parts: [part for part in parts if "/missing." not in repr(part)])


missing_ignored = media_fault(
    "media-missing-ignored",
    "Files that cannot be fetched are ignored, and the request is answered.",
    request=_ignore_missing,
    applies_to=fetches,
    declares=URLS,
)


def _refuse_half(request: ServedRequest) -> None:
    if b"?bytes=" in request.body:
        raise Refusal("invalid_request", "the file is too large")


halved_limit = media_fault(
    "media-limit-halved",
    "Files of half the size limit are refused.",
    request=_refuse_half,
    applies_to=limits_sizes,
    declares=URLS,
)


def _unpad(request: ServedRequest) -> None:
    def shorten(part: Any) -> Any:
        for name in (*IMAGES, *KINDS["audio"]):
            if isinstance(part, dict) and isinstance(part.get(name), str):
                return {**part, name: part[name].partition("?")[0]}
        return part

    edit_parts(request, lambda _, parts: [shorten(part) for part in parts])


limit_ignored = media_fault(
    "media-limit-ignored",
    "Files beyond the size limit are accepted.",
    request=_unpad,
    applies_to=limits_sizes,
    declares=URLS,
)


def _one_url(request: ServedRequest) -> None:
    edit_parts(
        request, lambda _, parts: [{"type": "text", "text": "A file."} if "://" in repr(p) else p for p in parts]
    )


urls_unfetched = media_fault(
    "media-urls-unfetched",
    "URLs of media are not fetched; the model gets words instead.",
    request=_one_url,
    applies_to=fetches,
    declares=URLS,
)
