"""Faults of servers that take images, videos and audio: they drop, confuse, refuse or accept the wrong ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import hooked_fault
from reference_server.faults.hooks import CannedResponse, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest

    Keep = Callable[[int, list[Any]], list[Any]]

MEDIA: Final = ("media",)
KINDS: Final = {
    "image": ("image_url",),
    "video": ("video_url",),
    "audio": ("audio_url", "input_audio"),
}
"""Types of parts by what they contain."""
IMAGES: Final = KINDS["image"]


def takes_media(contract: Contract) -> bool:
    return "media" in contract.capabilities


def takes(kind: str) -> Callable[[Contract], bool]:
    """Apply a fault to dialects that have a check of this kind of media."""
    return lambda contract: takes_media(contract) and f"media.{kind}" in contract.requirements


def edit_parts(request: ServedRequest, edit: Keep) -> None:
    """Replace the parts of every message; edit gets the number of the message, counted from the last, and its parts."""
    messages = request.payload.get("messages")
    turns = messages if isinstance(messages, list) else []
    for at, message in enumerate(reversed(turns)):
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            message["content"] = edit(at, content)


def is_part(part: Any, types: tuple[str, ...]) -> bool:
    """Return whether a part has one of these types."""
    return isinstance(part, dict) and part.get("type") in types


def count_parts(request: ServedRequest, types: tuple[str, ...]) -> int:
    """Return how many parts of a request have one of these types."""
    messages = request.payload.get("messages")
    turns = messages if isinstance(messages, list) else []
    contents = [message.get("content") for message in turns if isinstance(message, dict)]
    return sum(is_part(part, types) for content in contents if isinstance(content, list) for part in content)


def _without(types: tuple[str, ...]) -> Callable[[ServedRequest], None]:
    def drop(request: ServedRequest) -> None:
        edit_parts(request, lambda _, parts: [part for part in parts if not is_part(part, types)])

    return drop


def media_fault(name: str, line: str, **options: Any) -> Fault:
    """Make a fault of servers that take media."""
    return hooked_fault(name, line, **{"applies_to": takes_media, "declares": MEDIA, **options})


images_dropped = media_fault("media-images-dropped", "Images are dropped silently.", request=_without(IMAGES))
videos_dropped = media_fault(
    "media-videos-dropped",
    "Videos are dropped silently.",
    request=_without(KINDS["video"]),
    applies_to=takes("video-counted"),
)
audio_dropped = media_fault(
    "media-audio-dropped",
    "Audio is dropped silently.",
    request=_without(KINDS["audio"]),
    applies_to=takes("audio-counted"),
)


def _drop_in_streams(request: ServedRequest) -> None:
    if request.payload.get("stream") is True:
        _without(IMAGES)(request)


dropped_in_streams = media_fault(
    "media-dropped-in-streams", "Images are dropped if the answer is streamed.", request=_drop_in_streams
)


def _only_the_last_turn(request: ServedRequest) -> None:
    edit_parts(request, lambda at, parts: [part for part in parts if at == 0 or not is_part(part, IMAGES)])


earlier_dropped = media_fault(
    "media-of-earlier-turns-dropped", "Images of earlier turns are dropped.", request=_only_the_last_turn
)


def _only_the_first(request: ServedRequest) -> None:
    def keep(_: int, parts: list[Any]) -> list[Any]:
        images = [part for part in parts if is_part(part, IMAGES)]
        return [part for part in parts if part not in images[1:] or part is images[0]]

    edit_parts(request, keep)


later_dropped = media_fault(
    "media-only-the-first", "Only the first image of a message is kept.", request=_only_the_first
)


def _sort(request: ServedRequest) -> None:
    def sort(_: int, parts: list[Any]) -> list[Any]:
        images = sorted((part for part in parts if is_part(part, IMAGES)), key=repr)
        return [*images, *(part for part in parts if not is_part(part, IMAGES))]

    edit_parts(request, sort)


images_sorted = media_fault(
    "media-images-sorted", "Several images are sorted by their content, as a set or a cache does.", request=_sort
)


def _first_seen(request: ServedRequest) -> None:
    """Send the first image that the server has seen instead of any other."""

    def replace(_: int, parts: list[Any]) -> list[Any]:
        return [SEEN.setdefault(request.contract.name, part) if is_part(part, IMAGES) else part for part in parts]

    edit_parts(request, replace)


SEEN: Final[dict[str, Any]] = {}
"""By dialect, the first image of the process: the state of a cache whose key does not include the image."""

cache_confuses_images = media_fault(
    "media-images-confused", "A cache whose key ignores images answers with the first image.", request=_first_seen
)


def _break(request: ServedRequest) -> CannedResponse | None:
    if count_parts(request, IMAGES):
        return CannedResponse(500, b'{"error":"cannot identify image file"}')
    return None


images_break_the_server = media_fault("media-images-fail", "A request with an image gets a 500.", request=_break)


def _fail_at_animations(request: ServedRequest) -> CannedResponse | None:
    if count_parts(request, IMAGES) and b"base64,R0lG" in request.body:
        return CannedResponse(500, b'{"error":"operands could not be broadcast together"}')
    return None


animations_break_the_server = media_fault(
    "media-animations-fail",
    "An animated image gets a 500: its frames have one dimension more.",
    request=_fail_at_animations,
)


def _refuse_base64(request: ServedRequest) -> None:
    if count_parts(request, IMAGES) and b"base64," in request.body:
        raise Refusal("invalid_request", "image_url: expected an http URL")


base64_refused = media_fault(
    "media-base64-refused", "Images as base64 are refused; only URLs are accepted.", request=_refuse_base64
)


def _refuse_ten(request: ServedRequest) -> None:
    if count_parts(request, IMAGES) > 10:
        raise Refusal("invalid_request", "at most 10 images are allowed")


ten_at_most = media_fault("media-ten-at-most", "More than ten images are refused.", request=_refuse_ten)


def _cut(request: ServedRequest) -> None:
    def keep(_: int, parts: list[Any]) -> list[Any]:
        images = [at for at, part in enumerate(parts) if is_part(part, IMAGES)]
        return [part for at, part in enumerate(parts) if at not in images[20:]]

    edit_parts(request, keep)


more_are_cut = media_fault(
    "media-more-are-cut", "Images beyond the limit are dropped silently, and the request is answered.", request=_cut
)


def _ignore_broken(request: ServedRequest) -> None:
    def is_broken(part: Any) -> bool:
        return is_part(part, IMAGES) and len(repr(part)) < SHORTEST_IMAGE

    edit_parts(request, lambda _, parts: [part for part in parts if not is_broken(part)])


SHORTEST_IMAGE: Final = 450
"""Characters of the part of a whole image that the suite sends."""

broken_ignored = media_fault(
    "media-broken-ignored",
    "Images that cannot be decoded are ignored, and the request is answered.",
    request=_ignore_broken,
)


def _uncount(response: Json, request: ServedRequest) -> None:
    usage = response.get("usage")
    if isinstance(usage, dict) and any(count_parts(request, types) for types in KINDS.values()):
        usage["prompt_tokens"] = 4
        usage["total_tokens"] = 4 + usage["completion_tokens"]


media_uncounted = media_fault(
    "media-uncounted", "The tokens of media are not counted.", answer=_uncount, chunk=_uncount
)


def _note(answer: Json, request: ServedRequest) -> None:
    if count_parts(request, IMAGES):
        for choice in answer["choices"]:
            choice["message"]["content"] = f"{choice['message']['content']} I see it."


plain_answers_extended = media_fault(
    "media-plain-differs", "Plain answers about images have another text than streamed ones.", answer=_note
)


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
