"""Variations of how a conforming server may send the same answer: its segments and headers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.exchange import Response, Segment

if TYPE_CHECKING:
    from collections.abc import Callable


def byte_by_byte(response: Response) -> Response:
    """Send every byte in a segment of its own, spread over the time of the answer."""
    body = b"".join(segment.data for segment in response.segments)
    step_s = max(response.ended_at_s - response.headers_at_s, 0.0) / max(len(body), 1)
    segments = (Segment(response.headers_at_s + at * step_s, body[at : at + 1]) for at in range(len(body)))
    return replace(response, segments=tuple(segments))


def three_at_a_time(response: Response) -> Response:
    """Combine three segments into one, which arrives with the last of them."""
    groups = [response.segments[at : at + 3] for at in range(0, len(response.segments), 3)]
    segments = (Segment(group[-1].at_s, b"".join(segment.data for segment in group)) for group in groups)
    return replace(response, segments=tuple(segments))


def with_media_type(edit: Callable[[str], str]) -> Callable[[Response], Response]:
    """Write the content type differently."""

    def change(response: Response) -> Response:
        pairs = ((name, edit(value) if name == "content-type" else value) for name, value in response.headers)
        return replace(response, headers=tuple(pairs))

    return change


def with_headers(*dropped: str, **added: str) -> Callable[[Response], Response]:
    """Remove and add headers."""

    def change(response: Response) -> Response:
        kept = (pair for pair in response.headers if pair[0].lower() not in dropped)
        return replace(response, headers=(*kept, *added.items()))

    return change


TRANSPORT: dict[str, Callable[[Response], Response]] = {
    "byte by byte": byte_by_byte,
    "several events in one segment": three_at_a_time,
    "header names in capitals": lambda response: replace(
        response, headers=tuple((name.upper(), value) for name, value in response.headers)
    ),
    "a charset without a space": with_media_type(lambda value: f"{value.partition(';')[0]};charset=utf-8"),
    "no charset": with_media_type(lambda value: value.partition(";")[0]),
    "a media type in capitals": with_media_type(str.upper),
    "headers that no document defines": lambda response: replace(
        response, headers=(*response.headers, ("x-request-id", "7"), ("set-cookie", "a=b"), ("set-cookie", "c=d"))
    ),
    "another reason phrase": lambda response: replace(response, reason="Fine"),
    "no reason phrase": lambda response: replace(response, reason=""),
    "HTTP/1.0": lambda response: replace(response, http_version="HTTP/1.0"),
    "every answer closes its connection": with_headers(connection="close"),
    "no length, in chunks": with_headers("content-length", **{"transfer-encoding": "Chunked", "trailer": "X-Sum"}),
    "headers of proxies": with_headers(
        **{
            "via": "1.1 gate",
            "vary": "Accept-Encoding",
            "alt-svc": "clear",
            "keep-alive": "timeout=5",
            "x-cache": "MISS",
        }
    ),
    "a second authentication scheme": lambda response: (
        replace(response, headers=(*response.headers, ("www-authenticate", 'Basic realm="gate"')))
        if response.status == 401
        else response
    ),
    "refusals as problem details": lambda response: (
        with_media_type(lambda value: value.replace("application/json", "application/problem+json"))(response)
        if response.status >= 400
        else response
    ),
}
