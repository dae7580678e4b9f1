"""Variations of segments and headers that the reference server cannot produce."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.exchange import Response, Segment

if TYPE_CHECKING:
    from collections.abc import Callable


def in_single_bytes(response: Response) -> Response:
    """Send every byte of a plain body in a segment of its own, spread over the time of the answer."""
    if ("content-type", "application/json") not in response.headers:
        return response
    body = b"".join(segment.data for segment in response.segments)
    step_s = max(response.ended_at_s - response.headers_at_s, 0.0) / max(len(body), 1)
    segments = (Segment(response.headers_at_s + at * step_s, body[at : at + 1]) for at in range(len(body)))
    return replace(response, segments=tuple(segments))


def as_problem_details(response: Response) -> Response:
    """Send a refusal with the media type of problem details (RFC 9457)."""
    if response.status < 400:
        return response
    pairs = ((name, value.replace("application/json", "application/problem+json")) for name, value in response.headers)
    return replace(response, headers=tuple(pairs))


def with_headers(*dropped: str, **added: str) -> Callable[[Response], Response]:
    """Remove and add headers."""

    def change(response: Response) -> Response:
        kept = (pair for pair in response.headers if pair[0].lower() not in dropped)
        return replace(response, headers=(*kept, *added.items()))

    return change


TRANSPORT: dict[str, Callable[[Response], Response]] = {
    "plain bodies byte by byte": in_single_bytes,
    "header names in capitals": lambda response: replace(
        response, headers=tuple((name.upper(), value) for name, value in response.headers)
    ),
    "two headers with the same name": lambda response: replace(
        response, headers=(*response.headers, ("set-cookie", "a=b"), ("set-cookie", "c=d"))
    ),
    "another reason phrase": lambda response: replace(response, reason="Fine"),
    "no reason phrase": lambda response: replace(response, reason=""),
    "HTTP/1.0": lambda response: replace(response, http_version="HTTP/1.0"),
    "chunks with a trailer": with_headers("content-length", **{"transfer-encoding": "Chunked", "trailer": "X-Sum"}),
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
    "refusals as problem details": as_problem_details,
}
