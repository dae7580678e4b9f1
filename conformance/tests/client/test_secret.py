"""Every form in which a server may echo the key is redacted, and ordinary text is not changed."""

from __future__ import annotations

import base64
import html
import json
import pickle
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.client.redaction import Redaction
from conformance.client.secret import REDACTED, Secret
from conformance.errors import HarnessError, UsageError
from openapi.stream import sse
from openapi.stream.event_order import walk

KEY = "sk-Ab9/+=&<'\"\\%_~zz"
SECRET = Secret(KEY)
REDACTION = Redaction([SECRET])
MARK = REDACTED.encode()


def every_character(form: str, key: str = KEY) -> str:
    return "".join(form.format(ord(character)) for character in key)


ECHOES = {
    "unchanged": KEY,
    "twice": KEY + KEY,
    "JSON": json.dumps({"key": KEY}),
    "JSON in JSON": json.dumps(json.dumps({"key": KEY})),
    "JSON, slashes escaped": json.dumps(KEY).replace("/", "\\/"),
    "JSON, every character escaped": every_character("\\u{:04x}"),
    "JSON, upper case": every_character("\\u{:04X}"),
    "JSON, HTML characters escaped": json.dumps(KEY).replace("+", "\\u002B").replace("&", "\\u0026"),
    "URL": quote(KEY, safe=""),
    "URL, slashes kept": quote(KEY),
    "URL, plus": quote_plus(KEY),
    "URL, lower case": quote(KEY, safe="").lower().replace("sk-ab9", "sk-Ab9"),
    "URL twice": quote(quote(KEY, safe=""), safe=""),
    "URL, every character": every_character("%{:02X}"),
    "HTML": html.escape(KEY),
    "HTML, decimal": every_character("&#{};"),
    "HTML, hexadecimal": every_character("&#x{:X};"),
    "hexadecimal": KEY.encode().hex(),
    "hexadecimal, upper case": KEY.encode().hex().upper(),
    "upper case": KEY.upper(),
    "Python": every_character("\\x{:02x}"),
    "JavaScript": every_character("\\u{{{:x}}}"),
    "C": every_character("\\{:03o}"),
    "HTML, named": KEY.replace("/", "&sol;").replace("+", "&plus;").replace("_", "&lowbar;"),
    "hexadecimal, colons": KEY.encode().hex(":"),
    "hexadecimal, list": ", ".join(every_character("0x{:02x} ").split()),
    "JSON in JSON in JSON": json.dumps(json.dumps(json.dumps(KEY))),
    "base64 of base64": base64.b64encode(base64.b64encode(KEY.encode())).decode(),
    "base64 of hexadecimal": base64.b64encode(KEY.encode().hex().encode()).decode(),
    "base64 in lines": base64.encodebytes((KEY * 3).encode()).decode().strip(),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64, JSON": json.dumps(base64.b64encode(KEY.encode()).decode()).replace("/", "\\/").replace("+", "\\u002b"),
    "base64, URL": quote(base64.b64encode(KEY.encode()).decode(), safe=""),
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_every_form_of_the_key_is_redacted(echo: str) -> None:
    shown = REDACTION.redact_text(f"before {echo} after")
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert REDACTED in shown
    left = shown.replace(REDACTED, "").removeprefix("before ").removesuffix(" after")
    assert len(left) <= len(echo) - len(KEY)
    for start in range(len(KEY) - 5):
        assert KEY[start : start + 6] not in shown


@pytest.mark.parametrize("user", ["", "u", "us", "user", "用户"])
@pytest.mark.parametrize("rest", ["", "x", "yz", ":x"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_the_key_is_redacted_at_every_offset_in_base64(user: str, rest: str, encode: type[bytes]) -> None:
    echo = encode(f"{user}:{KEY}{rest}".encode()).decode()
    shown = REDACTION.redact_text(echo)
    assert REDACTED in shown
    # The rest of the encoding has the bits of the neighbouring characters.
    assert len(shown) - len(REDACTED) <= len(echo) - (8 * len(KEY) // 6 - 1)


@pytest.mark.parametrize("text", ["", "sk-Ab9", KEY[:-1], KEY[1:], "你好 \ud83d", "\\" * 1000, "%&" * 1000])
def test_ordinary_text_is_not_changed(text: str) -> None:
    assert REDACTION.redact_text(text) == text


@given(
    st.lists(st.sampled_from([KEY, KEY[:3], KEY[3:], "a", "\n", base64.b64encode(KEY.encode()).decode()]), max_size=8)
)
@settings(derandomize=True, max_examples=300, deadline=None)
def test_the_segmentation_of_a_body_does_not_change_the_result(pieces: list[str]) -> None:
    body = "".join(pieces).encode()
    whole = REDACTION.redact_body([body])[0]
    assert KEY.encode() not in whole
    for segments in ([piece.encode() for piece in pieces], [body[at : at + 1] for at in range(len(body))]):
        shown = REDACTION.redact_body(segments)
        assert len(shown) == len(segments)
        assert b"".join(shown) == whole


def test_a_key_across_segments_is_replaced_in_the_first_of_them() -> None:
    segments = [b"ab" + KEY[:4].encode(), KEY[4:9].encode(), KEY[9:].encode() + b"cd", b"", b"ef"]
    assert REDACTION.redact_body(segments) == [b"ab" + MARK, b"", b"cd", b"", b"ef"]


def chunk(text: str, *, ascii_only: bool = True) -> bytes:
    delta = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
    return sse.encode(json.dumps(delta, ensure_ascii=ascii_only))


STOP = sse.encode(json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})) + sse.encode("[DONE]")


@pytest.mark.parametrize("size", [1, 2, 5, 19, 20])
@pytest.mark.parametrize("key", [KEY, base64.b64encode(KEY.encode()).decode()])
def test_a_key_split_over_deltas_is_redacted(size: int, key: str) -> None:
    texts = ["你好 ", *(key[at : at + size] for at in range(0, len(key), size)), " bye"]
    body = b"".join(map(chunk, texts)) + STOP
    shown = b"".join(REDACTION.redact_body([body]))
    seen = walk([event.data for event in sse.decode([(0.0, shown)]).events])
    assert seen.breaches == ()
    content = seen.choices[0].content
    assert content.startswith("你好 " + REDACTED)
    assert content.endswith(" bye")
    # Of base64, a last character with few bits and the padding may remain.
    assert content.removeprefix("你好 ").removesuffix(" bye").replace(REDACTED, "") in ("", "g==", "==")


def test_only_deltas_that_contain_the_key_are_changed() -> None:
    parts = [chunk("a"), chunk(KEY[:9]), b": ping\n\n", chunk(KEY[9:]), chunk("b"), STOP]
    shown = REDACTION.redact_body(parts)
    assert shown == [chunk("a"), chunk(REDACTED), b": ping\n\n", chunk(REDACTED), chunk("b"), STOP]


def test_a_delta_with_unknown_escaping_is_replaced_as_a_whole() -> None:
    unusual = chunk(KEY[:9]).replace(b"A", b"\\u0041")
    shown = REDACTION.redact_body([unusual, chunk(KEY[9:]), STOP])
    assert shown == [sse.encode(REDACTED), chunk(REDACTED), STOP]


def test_interleaved_choices_are_joined_separately() -> None:
    def delta(index: int, text: str) -> bytes:
        return sse.encode(json.dumps({"choices": [{"index": index, "delta": {"content": text}}]}))

    shown = b"".join(REDACTION.redact_body([delta(0, KEY[:9]), delta(1, "x"), delta(0, KEY[9:]), delta(1, "y")]))
    seen = walk([event.data for event in sse.decode([(0.0, shown)]).events])
    assert {index: choice.content for index, choice in seen.choices.items()} == {0: REDACTED * 2, 1: "xy"}


@pytest.mark.parametrize("value", ["", "EMPTY", "1234567", "with space", "tab\there", "schlüssel", "line\nbreak"])
def test_a_value_that_cannot_be_redacted_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(UsageError) as refusal:
        Secret(value)
    assert not value or value not in str(refusal.value)


def test_the_key_is_not_in_its_representation() -> None:
    assert KEY not in f"{SECRET} {SECRET!r} {[SECRET]}"
    assert SECRET.reveal() == KEY
    with pytest.raises(HarnessError):
        pickle.dumps(SECRET)
