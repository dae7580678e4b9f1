"""Framing of HTTP/1.1: everything that RFC 9112 allows is read, everything that it forbids is a failure."""

from __future__ import annotations

import pytest

from conformance.tests.raw_server import ask, part, saying

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
LENGTH = b"Content-Length: 2\r\n\r\n{}"

ALLOWED = {
    "lower-case names": OK + b"content-length: 2\r\n\r\n{}",
    "Chunked with an upper-case letter": OK + b"transfer-encoding: Chunked\r\n\r\n" + part(b"{}") + b"0\r\n\r\n",
    "chunk extensions": CHUNKED + b'2;sum=7;note="a;b"\r\n{}\r\n0;last\r\n\r\n',
    "sizes with leading zeros and trailing spaces": CHUNKED + b"0002  \r\n{}\r\n0  \r\n\r\n",
    "upper-case sizes": CHUNKED + b"A\r\n{        }\r\n0\r\n\r\n",
    "trailers": CHUNKED + part(b"{}") + b"0\r\nX-Sum: 7\r\nX-Empty:\r\n\r\n",
    "both a length and chunks": OK
    + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n"
    + part(b"{}")
    + b"0\r\n\r\n",
    "the same length twice": OK + b"Content-Length: 2\r\n" + LENGTH,
    "white space around a value": OK + b"Content-Length: \t2 \t\r\n\r\n{}",
    "a field without a value": OK + b"X-Note:\r\n" + LENGTH,
    "non-ASCII bytes in a field": OK + "X-Note: ✓é\r\n".encode() + LENGTH,
    "no reason phrase": b"HTTP/1.1 200 \r\n" + LENGTH,
    "no space for the reason phrase": b"HTTP/1.1 200\r\n" + LENGTH,
    "an end by closing the connection": OK + b"Connection: close\r\n\r\n{}",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\n{}",
    "an unsolicited 100": b"HTTP/1.1 100 Continue\r\n\r\n" + OK + LENGTH,
    "102 and 103 first": b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n" + OK + LENGTH,
}


@pytest.mark.parametrize("answer", ALLOWED)
def test_allowed_framing_is_read(answer: str) -> None:
    exchange = ask(saying(ALLOWED[answer]))
    assert (200, {}, True, None) == (exchange.status, exchange.json, exchange.complete, exchange.failure)


FORBIDDEN = {
    "an obsolete transfer coding": OK + b"Transfer-Encoding: identity\r\n" + LENGTH,
    "two different lengths": OK + b"Content-Length: 3\r\n" + LENGTH,
    "an invalid chunk size": CHUNKED + b"two\r\n{}\r\n0\r\n\r\n",
    "a name with a comma": OK + b"X,Note: 1\r\n" + LENGTH,
    "a space in front of the colon": OK + b"Content-Length : 2\r\n\r\n{}",
}


@pytest.mark.parametrize("answer", FORBIDDEN)
def test_forbidden_framing_is_a_protocol_failure(answer: str) -> None:
    exchange = ask(saying(FORBIDDEN[answer]))
    assert exchange.failure is not None
    assert ("protocol", False) == (exchange.failure.kind, exchange.complete)
