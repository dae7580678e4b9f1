"""Write the exchanges of a run as an HTTP archive (HAR 1.2), which browsers and proxies open.

http://www.softwareishard.com/blog/har-12-spec/ describes the format. Secrets are redacted, as in results.json.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlsplit

from conformance.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance.exchange import Headers

UNKNOWN: Final = -1
"""The value of HAR for a size or a time that is not known."""


def write(results: dict[str, Any]) -> Iterator[str]:
    """Yield the archive in pieces, one for each exchange. The comment of an entry is the id of its exchange."""
    creator = json.dumps({"name": "chatproof", "version": version("chatproof")})
    yield f'{{"log": {{"version": "1.2", "creator": {creator}, "pages": [], "entries": ['
    separator = "\n"
    for data in results["exchanges"]:
        yield separator + json.dumps(_entry(Exchange.from_dict(data)))
        separator = ",\n"
    yield "\n]}}\n"


def _entry(exchange: Exchange) -> dict[str, Any]:
    response = exchange.response
    whole_s = response.ended_at_s if response is not None else 0.0
    wait_s = response.headers_at_s if response is not None else 0.0
    return {
        "startedDateTime": exchange.started_at,
        "time": _milliseconds(whole_s),
        "request": _request(exchange),
        "response": _response(exchange),
        "cache": {},
        "timings": {"send": 0, "wait": _milliseconds(wait_s), "receive": _milliseconds(max(0.0, whole_s - wait_s))},
        "comment": exchange.id,
    }


def _request(exchange: Exchange) -> dict[str, Any]:
    request = exchange.request
    return {
        "method": request.method,
        "url": request.url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _pairs(request.headers),
        "queryString": _pairs(parse_qsl(urlsplit(request.url).query, keep_blank_values=True)),
        "headersSize": UNKNOWN,
        "bodySize": len(request.body),
        **({"postData": _posted(request.headers, request.body)} if request.body else {}),
    }


def _posted(headers: Headers, body: bytes) -> dict[str, Any]:
    kinds = [value for name, value in headers if name.lower() == "content-type"]
    return {"mimeType": kinds[0] if kinds else "", "params": [], "text": body.decode(errors="replace")}


def _response(exchange: Exchange) -> dict[str, Any]:
    """Return the response; a status of 0 is that of a request without response."""
    response = exchange.response
    failure = {"_error": exchange.failure.detail} if exchange.failure else {}
    return {
        "status": response.status if response else 0,
        "statusText": response.reason if response else "",
        "httpVersion": response.http_version if response else "",
        "cookies": [],
        "headers": _pairs(response.headers) if response else [],
        "content": {
            "size": len(exchange.body),
            "mimeType": exchange.header("content-type") or "",
            "text": exchange.text,
        },
        "redirectURL": exchange.header("location") or "",
        "headersSize": UNKNOWN,
        "bodySize": len(exchange.body),
        **failure,
    }


def _pairs(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]


def _milliseconds(seconds: float) -> float:
    return round(1000 * seconds, 3)
