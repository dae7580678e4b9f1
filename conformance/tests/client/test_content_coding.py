"""A coded answer is recorded as it is without the coding, if its request accepts the coding."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

import pytest

from conformance.client.content_coding import CodingError, ContentDecoder, accepted_codings
from conformance.tests.raw_server import ask, saying, whole

if TYPE_CHECKING:
    from conformance.exchange import Exchange

TEXT = b'{"content": "sea, sea, sea"}' * 9
RAW_DEFLATE = zlib.compressobj(wbits=-15)
CODED = {
    "gzip": ("gzip", gzip.compress(TEXT)),
    "x-gzip": ("x-gzip", gzip.compress(TEXT)),
    "gzip of two parts": ("gzip", gzip.compress(TEXT[:7]) + gzip.compress(TEXT[7:])),
    "deflate": ("deflate", zlib.compress(TEXT)),
    "deflate without its header": ("deflate", RAW_DEFLATE.compress(TEXT) + RAW_DEFLATE.flush()),
}
BROKEN = {
    "no gzip": ("gzip", TEXT),
    "no deflate": ("deflate", TEXT),
    "without its end": ("gzip", gzip.compress(TEXT)[:-8]),
    "with a wrong checksum": ("gzip", gzip.compress(TEXT)[:-8] + b"wrong!!!"),
}


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("name", CODED)
def test_a_coded_body_is_decoded_in_pieces_of_any_size(name: str, size: int) -> None:
    coding, body = CODED[name]
    decoder = ContentDecoder("gzip" if coding == "x-gzip" else coding)
    decoded = b"".join(decoder.feed(body[at : at + size], 10_000) for at in range(0, len(body), size))
    decoder.end()
    assert decoded == TEXT


def decode(coding: str, body: bytes) -> bytes:
    decoder = ContentDecoder(coding)
    decoded = decoder.feed(body, 10_000)
    decoder.end()
    return decoded


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_body_is_an_error(name: str) -> None:
    coding, body = BROKEN[name]
    with pytest.raises(CodingError):
        decode(coding, body)


def test_no_more_is_decoded_than_the_limit() -> None:
    assert len(ContentDecoder("gzip").feed(gzip.compress(b" " * 10_000_000), 1000)) == 1000


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("gzip, deflate", {"gzip", "deflate"}),
        ("GZIP;q=0.5, br;q=0, *;q=0.0", {"gzip"}),
        ("identity", {"identity"}),
        ("", set()),
    ],
)
def test_codings_with_the_weight_0_are_not_accepted(header: str, expected: set[str]) -> None:
    assert accepted_codings(header) == expected


def asked_for(accepted: str, coding: str, body: bytes) -> Exchange:
    answer = whole(body, headers=f"Content-Encoding: {coding}\r\n")
    return ask(saying(answer), headers={"Accept-Encoding": accepted})


@pytest.mark.parametrize("name", CODED)
def test_an_answer_is_decoded_if_its_request_accepts_the_coding(name: str) -> None:
    exchange = asked_for("gzip, x-gzip, deflate", *CODED[name])
    assert (exchange.body, exchange.complete, exchange.failure) == (TEXT, True, None)


def test_an_answer_in_a_coding_that_was_not_asked_for_is_recorded_as_it_is() -> None:
    coding, body = CODED["gzip"]
    assert asked_for("identity", coding, body).body == body


@pytest.mark.parametrize("name", BROKEN)
def test_an_answer_that_cannot_be_decoded_is_a_failure(name: str) -> None:
    exchange = asked_for("gzip, deflate", *BROKEN[name])
    assert exchange.failure is not None
    assert (exchange.failure.kind, exchange.complete) == ("coding", False)
