"""Blind faults of HTTP: bodies that are counted in characters, and the media type of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import ResponseHead, ServedRequest


def _count_characters(body: bytes, _request: ServedRequest) -> bytes:
    """Send as many bytes as there are characters. Violates the form of an answer, which is JSON."""
    return body[: len(body.decode(errors="replace"))]


def _drop_media_type(head: ResponseHead, _request: ServedRequest) -> None:
    """Leave out a header. Violates the media type of streams: text/event-stream."""
    if head.streams:
        del head.headers["content-type"]


bodies_cut_by_characters = hooked_fault(
    "bodies-cut-by-characters",
    "A plain answer has as many bytes as characters, so that one with characters outside ASCII is cut.",
    plain=_count_characters,
)
streams_lack_a_media_type = hooked_fault(
    "streams-lack-a-media-type", "Streams have no media type.", head=_drop_media_type
)
