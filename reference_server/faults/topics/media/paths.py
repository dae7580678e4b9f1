"""Faults with files on the disk of the server: they are refused, not read, or of the wrong format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.hooks import Refusal
from reference_server.faults.topics.media.parts import IMAGES, KINDS, edit_parts, is_part, media_fault, takes_media

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import ServedRequest


def _has_path(part: Any) -> bool:
    """Return whether a part names a file on the server."""
    return any(isinstance(part, dict) and str(part.get(name, "")).startswith("/") for name in LOCATED)


LOCATED: Final = (*IMAGES, *KINDS["video"], *KINDS["audio"])
PATHS: Final = ("media", "media_paths")


def reads_paths(contract: Contract) -> bool:
    return takes_media(contract) and "media_paths" in contract.capabilities


def path_fault(name: str, line: str, **options: Any) -> Fault:
    """Make a fault of servers that read media from their own disk."""
    return media_fault(name, line, applies_to=reads_paths, declares=PATHS, **options)


def _any_path(request: ServedRequest, test: Callable[[Any], bool]) -> bool:
    found: list[bool] = []

    def look(_: int, parts: list[Any]) -> list[Any]:
        found.extend(_has_path(part) and test(part) for part in parts)
        return parts

    edit_parts(request, look)
    return any(found)


def _refuse_paths(request: ServedRequest) -> None:
    if _any_path(request, lambda part: is_part(part, IMAGES)):
        raise Refusal("invalid_request", "image_url: expected a URL")


paths_refused = path_fault("media-paths-refused", "Paths of images are refused.", request=_refuse_paths)


def _unread(request: ServedRequest) -> None:
    edit_parts(request, lambda _, parts: [{"type": "text", "text": "A file."} if _has_path(p) else p for p in parts])


paths_unread = path_fault(
    "media-paths-unread", "Files on the server are not read; the model gets words instead.", request=_unread
)


def _refuse_newer_formats(request: ServedRequest) -> None:
    if _any_path(request, lambda part: repr(part).endswith((".avi'}", ".flac'}"))):
        raise Refusal("invalid_request", "unknown file format")


formats_refused = path_fault(
    "media-formats-refused", "Videos as AVI and audio files as FLAC are refused.", request=_refuse_newer_formats
)


def _ignore_missing_path(request: ServedRequest) -> None:
    edit_parts(
        request, lambda _, parts: [part for part in parts if not (_has_path(part) and "/missing." in repr(part))]
    )


missing_path_ignored = path_fault(
    "media-missing-path-ignored",
    "Paths without a file are ignored, and the request is answered.",
    request=_ignore_missing_path,
)
