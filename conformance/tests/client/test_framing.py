"""Framing: whatever RFC 9112 allows of an answer is read, and what it forbids is named."""

from __future__ import annotations

import pytest

from conformance.tests.raw_server import ask, part, saying

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
LENGTH = b"Content-Length: 2\r\n\r\n{}"

ALLOWED = {
    "names in small letters": OK + b"content-length: 2\r\n\r\n{}",
    "Chunked with a capital": OK + b"transfer-encoding: Chunked\r\n\r\n" + part(b"{}") + b"0\r\n\r\n",
    "chunk extensions": CHUNKED + b'2;sum=7;note="a;b"\r\n{}\r\n0;last\r\n\r\n',
    "sizes with noughts before and blanks behind": CHUNKED + b"0002  \r\n{}\r\n0  \r\n\r\n",
    "sizes in capitals": CHUNKED + b"A\r\n{        }\r\n0\r\n\r\n",
    "trailers": CHUNKED + part(b"{}") + b"0\r\nX-Sum: 7\r\nX-Empty:\r\n\r\n",
    "a length beside chunks": OK
    + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n"
    + part(b"{}")
    + b"0\r\n\r\n",
    "the same length twice": OK + b"Content-Length: 2\r\n" + LENGTH,
    "blanks around a value": OK + b"Content-Length: \t2 \t\r\n\r\n{}",
    "a field without a value": OK + b"X-Note:\r\n" + LENGTH,
    "bytes beyond ASCII in a field": OK + "X-Note: ✓é\r\n".encode() + LENGTH,
    "no reason": b"HTTP/1.1 200 \r\n" + LENGTH,
    "no blank for the reason": b"HTTP/1.1 200\r\n" + LENGTH,
    "an end by closing": OK + b"Connection: close\r\n\r\n{}",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\n{}",
    "an unasked 100": b"HTTP/1.1 100 Continue\r\n\r\n" + OK + LENGTH,
    "102 and 103 before": b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n" + OK + LENGTH,
}


@pytest.mark.parametrize("answer", ALLOWED)
def test_what_http_allows_is_read(answer: str) -> None:
    exchange = ask(saying(ALLOWED[answer]))
    assert (200, {}, True, None) == (exchange.status, exchange.json, exchange.complete, exchange.failure)


FORBIDDEN = {
    "a coding that is no longer one": OK + b"Transfer-Encoding: identity\r\n" + LENGTH,
    "two lengths": OK + b"Content-Length: 3\r\n" + LENGTH,
    "a size that is none": CHUNKED + b"two\r\n{}\r\n0\r\n\r\n",
    "a name with a comma": OK + b"X,Note: 1\r\n" + LENGTH,
    "a blank before the colon": OK + b"Content-Length : 2\r\n\r\n{}",
}


@pytest.mark.parametrize("answer", FORBIDDEN)
def test_what_http_forbids_is_a_breach_of_protocol(answer: str) -> None:
    exchange = ask(saying(FORBIDDEN[answer]))
    assert exchange.failure is not None
    assert ("protocol", False) == (exchange.failure.kind, exchange.complete)
