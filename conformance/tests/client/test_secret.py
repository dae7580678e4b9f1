"""The key is found in every form a server may echo it in, and ordinary text is left alone."""

from __future__ import annotations

import base64
import html
import json
import pickle
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.client.secret import REDACTED, Secret
from conformance.errors import HarnessError, UsageError
from openapi.stream import sse
from openapi.stream.event_order import walk

KEY = "sk-Ab9/+=&<'\"\\%_~zz"
SECRET = Secret(KEY)
MARK = REDACTED.encode()


def every_character(form: str, key: str = KEY) -> str:
    return "".join(form.format(ord(character)) for character in key)


ECHOES = {
    "as it is": KEY,
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
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64, JSON": json.dumps(base64.b64encode(KEY.encode()).decode()).replace("/", "\\/").replace("+", "\\u002b"),
    "base64, URL": quote(base64.b64encode(KEY.encode()).decode(), safe=""),
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_the_key_is_taken_out_in_every_form(echo: str) -> None:
    shown = SECRET.redact(f"before {echo} after")
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
def test_the_key_is_found_anywhere_inside_base64(user: str, rest: str, encode: type[bytes]) -> None:
    echo = encode(f"{user}:{KEY}{rest}".encode()).decode()
    shown = SECRET.redact(echo)
    assert REDACTED in shown
    # What is left of the encoding are the bits of the neighbours.
    assert len(shown) - len(REDACTED) <= len(echo) - (8 * len(KEY) // 6 - 1)


@pytest.mark.parametrize(
    "text", ["", "sk-Ab9", KEY[:-1], KEY[1:], KEY.lower(), "你好 \ud83d", "\\" * 1000, "%&" * 1000]
)
def test_other_text_is_left_alone(text: str) -> None:
    assert SECRET.redact(text) == text


@given(
    st.lists(st.sampled_from([KEY, KEY[:3], KEY[3:], "a", "\n", base64.b64encode(KEY.encode()).decode()]), max_size=8)
)
@settings(derandomize=True, max_examples=300)
def test_cutting_a_body_changes_neither_what_is_found_nor_the_number_of_segments(pieces: list[str]) -> None:
    body = "".join(pieces).encode()
    whole = SECRET.redact_body([body])[0]
    assert KEY.encode() not in whole
    for segments in ([piece.encode() for piece in pieces], [body[at : at + 1] for at in range(len(body))]):
        shown = SECRET.redact_body(segments)
        assert len(shown) == len(segments)
        assert b"".join(shown) == whole


def test_a_key_over_several_segments_is_replaced_in_the_first_of_them() -> None:
    segments = [b"ab" + KEY[:4].encode(), KEY[4:9].encode(), KEY[9:].encode() + b"cd", b"", b"ef"]
    assert SECRET.redact_body(segments) == [b"ab" + MARK, b"", b"cd", b"", b"ef"]


def chunk(text: str, *, ascii_only: bool = True) -> bytes:
    delta = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
    return sse.encode(json.dumps(delta, ensure_ascii=ascii_only))


STOP = sse.encode(json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})) + sse.encode("[DONE]")


@pytest.mark.parametrize("size", [1, 2, 5, 19, 20])
@pytest.mark.parametrize("key", [KEY, base64.b64encode(KEY.encode()).decode()])
def test_a_key_cut_over_deltas_is_taken_out_of_them(size: int, key: str) -> None:
    texts = ["你好 ", *(key[at : at + size] for at in range(0, len(key), size)), " bye"]
    body = b"".join(map(chunk, texts)) + STOP
    shown = b"".join(SECRET.redact_body([body]))
    seen = walk([event.data for event in sse.decode([(0.0, shown)]).events])
    assert seen.breaches == ()
    said = seen.choices[0].content
    assert said.startswith("你好 " + REDACTED)
    assert said.endswith(" bye")
    # Of base64, a last character of few bits and its padding may stay.
    assert said.removeprefix("你好 ").removesuffix(" bye").replace(REDACTED, "") in ("", "g==", "==")


def test_only_the_deltas_that_hold_the_key_are_touched() -> None:
    parts = [chunk("a"), chunk(KEY[:9]), b": ping\n\n", chunk(KEY[9:]), chunk("b"), STOP]
    shown = SECRET.redact_body(parts)
    assert shown == [chunk("a"), chunk(REDACTED), b": ping\n\n", chunk(REDACTED), chunk("b"), STOP]


def test_a_delta_written_in_an_unknown_way_is_blanked_as_a_whole() -> None:
    strange = chunk(KEY[:9]).replace(b"A", b"\\u0041")
    shown = SECRET.redact_body([strange, chunk(KEY[9:]), STOP])
    assert shown == [sse.encode(REDACTED), chunk(REDACTED), STOP]


def test_choices_that_take_turns_are_joined_each_by_itself() -> None:
    def turn(index: int, text: str) -> bytes:
        return sse.encode(json.dumps({"choices": [{"index": index, "delta": {"content": text}}]}))

    shown = b"".join(SECRET.redact_body([turn(0, KEY[:9]), turn(1, "x"), turn(0, KEY[9:]), turn(1, "y")]))
    seen = walk([event.data for event in sse.decode([(0.0, shown)]).events])
    assert {index: said.content for index, said in seen.choices.items()} == {0: REDACTED * 2, 1: "xy"}


@pytest.mark.parametrize("value", ["", "EMPTY", "1234567", "with space", "tab\there", "schlüssel", "line\nbreak"])
def test_a_value_that_cannot_be_kept_secret_is_refused_without_being_shown(value: str) -> None:
    with pytest.raises(UsageError) as refusal:
        Secret(value)
    assert not value or value not in str(refusal.value)


def test_the_key_does_not_show_itself() -> None:
    assert KEY not in f"{SECRET} {SECRET!r} {[SECRET]}"
    assert SECRET.reveal() == KEY
    with pytest.raises(HarnessError):
        pickle.dumps(SECRET)
