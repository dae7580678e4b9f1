"""Strict JSON: errors, oddities, and that no input raises."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openapi.stream.strict_json import MAX_ODDITIES, NOT_JSON, quote, read_json, shorten


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
@settings(derandomize=True, max_examples=200, deadline=None)
def test_valid_json_is_read_without_oddities(value: object) -> None:
    for ensure_ascii in (True, False):
        result = read_json(json.dumps(value, ensure_ascii=ensure_ascii))
        assert (result.value, result.error, result.oddities) == (value, "", ())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("{", "Expecting property name"),
        ("{} {}", "Extra data"),
        ("[NaN]", "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ("[1e400]", "1e400 is out of range for a double"),
        ("9" * 5000, "4300 digits"),
        ("[" * 200_000, "nested too deeply"),
        ('{"a":' * 200_000, "nested too deeply"),
        ("[" + "[]," * 1_000_001 + "0]", "more than 1000000 values"),
        ("\ufeff{}", "BOM"),
        ("{'a': 1}", "Expecting property name"),
        ('"\n"', "Invalid control character"),
    ],
)
def test_invalid_json_is_refused_with_a_short_reason(text: str, reason: str) -> None:
    result = read_json(text)
    assert result.value is NOT_JSON
    assert reason in result.error
    assert len(result.error) <= 80
    assert "\n" not in result.error


def test_null_is_a_value() -> None:
    assert read_json("null").value is None
    assert repr(NOT_JSON) == "NOT_JSON"


def test_a_duplicate_key_is_reported_at_any_depth_and_its_last_value_kept() -> None:
    result = read_json('{"a": [{"b": 1, "c": 2, "b": 3}], "a2": 1, "c": 0}')
    assert result.value == {"a": [{"b": 3, "c": 2}], "a2": 1, "c": 0}
    assert result.oddities == ("duplicate key 'b'",)


@pytest.mark.parametrize(
    ("text", "value", "lone"),
    [
        (r'"\ud83d\ude00"', "😀", 0),
        (r'"\uD83D\uDE00"', "😀", 0),
        (r'"\ud83d"', "\ufffd", 1),
        (r'"\ude00\ud83d"', "\ufffd\ufffd", 2),
        (r'"\ud83d\ud83d\ude00"', "\ufffd😀", 1),
        (r'"\\ud83d"', r"\ud83d", 0),
        (r'"\\\ud83d"', "\\\ufffd", 1),
        (r'"\u0041\n\ud83dx"', "A\n\ufffdx", 1),
    ],
)
def test_a_lone_surrogate_is_reported_and_replaced(text: str, value: str, lone: int) -> None:
    result = read_json(text)
    assert (result.value, len(result.oddities)) == (value, lone)


def test_oddities_are_reported_up_to_a_limit() -> None:
    assert len(read_json("[" + ",".join([r'"\ud83d"'] * 100) + "]").oddities) == MAX_ODDITIES


def test_a_quotation_is_one_short_printable_line() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for value in ("a\nb\x1b[31m" * 100, deep, [0] * 10**5, {"a": "\n"}):
        assert len(quote(value)) <= 80
        assert quote(value).isprintable()
    assert (shorten("a" * 80), shorten("a" * 81)) == ("a" * 80, "a" * 79 + "…")
