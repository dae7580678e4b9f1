"""JSON read strictly, as a judge must: nothing is repaired without a word.

Python's parser takes NaN and 1e400, keeps the last of two equal keys and hands out lone surrogates that no UTF-8
file can hold. Here the first two are errors; the others are kept in a usable form and reported as oddities.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

ODDITIES_KEPT: Final = 10
"""Oddities kept of one text; a hostile one may hold a million."""
MAX_VALUES: Final = 1_000_000
"""Values read of one text. 32 MiB of `[],` are 11 million lists, which Python needs 700 MiB to hold."""
_SHOWN: Final = 80
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a pair
    r"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"  # half of one
    r"|\\.",  # any other escape, so that an escaped backslash hides nothing
    re.DOTALL,
)


class _NotJson:
    def __repr__(self) -> str:
        return "NOT_JSON"


NOT_JSON: Final = _NotJson()
"""The value of a text that is not JSON; None is a value."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text holds.

    `value` is NOT_JSON exactly if `error` says, in one line, why the text is refused. `oddities` are what parsers
    disagree on: a duplicate key (its last value is kept), half a surrogate pair (U+FFFD is kept).
    """

    value: Any
    error: str = ""
    oddities: tuple[str, ...] = ()


def read_json(text: str) -> Reading:
    """Reads a text as RFC 8259 has it; refuses numbers beyond a double, depths beyond the parser, too many values.

    Never raises. Integers are exact up to Python's limit of 4,300 digits.
    """
    return JsonReader().read(text)


class JsonReader:
    """Reads text after text as `read_json` does, with one decoder for all."""

    def __init__(self) -> None:
        self._oddities: list[str] = []
        self._decode = json.JSONDecoder(
            object_pairs_hook=self._object, parse_constant=_refuse_constant, parse_float=_read_float
        ).decode

    def read(self, text: str) -> Reading:
        """What a text holds."""
        # A comma stands before each value but the first of its container, and containers' depth has its own bound.
        if text.count(",") > MAX_VALUES:
            return Reading(NOT_JSON, f"more than {MAX_VALUES} values")
        if text.startswith("\ufeff"):
            return Reading(NOT_JSON, "a BOM stands before it")
        self._oddities.clear()
        if _SURROGATE.search(text):
            text = _ESCAPE.sub(self._escape, text)
        try:
            value = self._decode(text)
        except RecursionError:
            return Reading(NOT_JSON, "nested too deeply to be read")
        except ValueError as error:
            return Reading(NOT_JSON, shorten(str(error)))
        return Reading(value, "", tuple(self._oddities))

    def _keep(self, oddity: str) -> None:
        if len(self._oddities) < ODDITIES_KEPT:
            self._oddities.append(oddity)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            for name, count in Counter(name for name, _ in pairs).items():
                if count > 1:
                    self._keep(f"duplicate key {quote(name)}")
        return members

    def _escape(self, match: re.Match[str]) -> str:
        if match.group(1) is None:
            return match.group()
        self._keep(f"lone surrogate {match.group(1)}")
        return r"\ufffd"


def quote(value: object) -> str:
    """Any JSON value as one short printable line for a report."""
    try:
        # The slice first: rendering a whole hostile value could take more memory than reading it did.
        text = repr(value[: _SHOWN + 1]) if isinstance(value, str) else shorten(repr(value))
    except RecursionError:
        return "a deeply nested value"
    return shorten(text)


def shorten(text: str) -> str:
    """At most 80 characters, with an ellipsis where something is left out."""
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _read_float(literal: str) -> float:
    number = float(literal)
    if math.isinf(number):
        raise ValueError(f"{shorten(literal)} is beyond a double")
    return number
