"""Removing secrets takes time that is linear in the size of what a server sent, and ends at its deadline."""

from __future__ import annotations

import base64
import json
import time
from contextlib import suppress

import pytest

from conformance.client import split_echoes
from conformance.client.client import MAX_BODY_BYTES
from conformance.client.redaction import Redaction, RedactionTimeout
from conformance.client.secret import REDACTED, Secret
from conformance.tests.raw_server import ask, saying, whole
from openapi import folded_text
from openapi.stream import sse

KEY = "sk-0123456789abcdef0123456789"
REDACTION = Redaction([Secret(KEY)])


def chunk(text: str) -> bytes:
    return sse.encode(json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}))


def escaped(form: str) -> bytes:
    return "".join(form.format(ord(character)) for character in KEY).encode()


PATTERNS = {
    "backslashes": b"\\",
    "escapes": b"\\a",
    "percent signs": b"%25",
    "entities": b"&amp;",
    "most of the key": KEY[:-1].encode(),
    "the key": KEY.encode(),
    "the key, escaped": escaped("\\u{:04x}"),
    "the key, hexadecimal": KEY.encode().hex(":").encode(),
    "split echoes": chunk(KEY[:14]) + chunk(KEY[14:]),
    "deep lists": sse.encode("[" * 300 + '"a"' + "]" * 300),
    "one event": b'"a",',
}


def cost_s(body: bytes) -> float:
    """The CPU time that redaction takes, at most."""
    best = []
    for _ in range(2):
        began_s = time.thread_time()
        with suppress(RedactionTimeout):  # refused because there are too many
            REDACTION.redact_body([body[at : at + 4096] for at in range(0, len(body), 4096)])
        best.append(time.thread_time() - began_s)
    return min(best)


@pytest.mark.parametrize("name", PATTERNS)
def test_the_time_is_linear_in_the_size(name: str) -> None:
    small, large = (cost_s(PATTERNS[name] * (size // len(PATTERNS[name]))) for size in (50_000, 400_000))
    assert large < 8 * 4 * small + 0.05  # eight times the size; a quadratic search would take 64 times as long


@pytest.mark.parametrize("name", PATTERNS)
def test_a_body_of_the_greatest_size_is_redacted_or_given_up_at_the_deadline(name: str) -> None:
    body = PATTERNS[name] * (MAX_BODY_BYTES // len(PATTERNS[name]))
    began_s = time.monotonic()
    try:
        shown = b"".join(REDACTION.redact_body([body], began_s + 0.5))
    except RedactionTimeout:
        shown = b""
    assert KEY.encode() not in shown
    assert time.monotonic() - began_s < 20


def test_a_body_that_takes_too_long_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.client.client.REDACTION_S", -100.0)
    body = b"\\u0041" * 10_000 + KEY.encode()
    exchange = ask(saying(whole(body)), secret=Secret(KEY))
    assert exchange.failure is not None
    assert (exchange.failure.kind, exchange.complete, exchange.body) == ("not-kept", False, b"")


def test_a_key_behind_the_events_that_are_read_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENTS", 3)
    monkeypatch.setattr(sse.Decoder.__init__, "__kwdefaults__", {"max_events": 3})
    monkeypatch.setattr(sse.decode, "__kwdefaults__", {"max_events": 3})
    body = b"".join(map(chunk, "abcd")) + chunk(KEY[:14]) + chunk(KEY[14:])
    shown = b"".join(REDACTION.redact_body([body]))
    assert KEY[:14].encode() not in shown
    assert shown.startswith(chunk("a"))


def test_events_with_strings_at_too_many_places_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_echoes, "MAX_PLACES", 10)
    with pytest.raises(RedactionTimeout):
        REDACTION.redact_body([sse.encode(json.dumps([str(at) for at in range(50)]))])


@pytest.mark.parametrize("end", range(4, len(KEY)))
def test_a_part_of_the_key_at_a_missing_end_is_redacted(end: int) -> None:
    assert REDACTION.redact_ends([b"ab " + KEY[:end].encode()], [(0, 1)]) == [b"ab " + REDACTED.encode()]
    assert REDACTION.redact_ends([b"", KEY[-end:].encode() + b" cd"], [(0, 1)]) == [b"", REDACTED.encode() + b" cd"]


def test_the_levels_of_escapes_are_limited() -> None:
    nested = KEY
    for _ in range(folded_text.MAX_LEVELS):
        nested = "".join(f"%{ord(character):02x}" for character in nested) if len(nested) < 5000 else nested
    assert KEY not in REDACTION.redact_text(base64.b64encode(KEY.encode()).decode())
    assert REDACTION.redact_text("%25" * 1000) == "%25" * 1000
