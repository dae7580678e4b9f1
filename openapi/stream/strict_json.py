"""Read JSON strictly: errors are never repaired without a report.

Python's parser accepts NaN and 1e400, keeps the last of duplicate keys, and returns lone surrogates, which UTF-8 cannot
encode. Here NaN and numbers out of range are errors; duplicate keys and lone surrogates are resolved and reported.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

MAX_ODDITIES: Final = 10
"""Oddities reported per input; a hostile one may contain a million."""
MAX_VALUES: Final = 1_000_000
"""Values per input. 32 MiB of `[],` are 11 million lists, for which Python needs 700 MiB."""
_MAX_QUOTED: Final = 80
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a surrogate pair
    r"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"  # a lone surrogate
    r"|\\.",  # any other escape, so that an escaped backslash is not taken for the start of a surrogate
    re.DOTALL,
)


class _NotJson:
    def __repr__(self) -> str:
        return "NOT_JSON"


NOT_JSON: Final = _NotJson()
"""The value of a string that is not JSON; None would be a value."""


@dataclass(frozen=True, slots=True)
class JsonResult:
    """The value of a JSON text, or an error.

    value: NOT_JSON if there is an error.
    error: one line, or "".
    oddities: details on which parsers differ: duplicate keys (the last value is kept) and lone surrogates (U+FFFD).
    """

    value: Any
    error: str = ""
    oddities: tuple[str, ...] = ()


def read_json(text: str) -> JsonResult:
    """Read a string as JSON, as specified in RFC 8259. Never raises.

    Numbers beyond the range of a double, nesting beyond the parser's limit and too many values are errors. Integers are
    exact up to Python's limit of 4,300 digits.
    """
    return JsonReader().read(text)


class JsonReader:
    """Reads any number of strings with one decoder, each as `read_json` does."""

    def __init__(self) -> None:
        self._oddities: list[str] = []
        self._decode = json.JSONDecoder(
            object_pairs_hook=self._object, parse_constant=_refuse_constant, parse_float=_read_float
        ).decode

    def read(self, text: str) -> JsonResult:
        """Read a string as JSON."""
        # Each value but the first of its container follows a comma, and nesting has a limit of its own.
        if text.count(",") > MAX_VALUES:
            return JsonResult(NOT_JSON, f"more than {MAX_VALUES} values")
        if text.startswith("\ufeff"):
            return JsonResult(NOT_JSON, "it begins with a byte order mark (BOM)")
        self._oddities.clear()
        if _SURROGATE.search(text):
            text = _ESCAPE.sub(self._replace_surrogate, text)
        try:
            value = self._decode(text)
        except RecursionError:
            return JsonResult(NOT_JSON, "nested too deeply to be read")
        except ValueError as error:
            return JsonResult(NOT_JSON, shorten(str(error)))
        return JsonResult(value, "", tuple(self._oddities))

    def _report(self, oddity: str) -> None:
        if len(self._oddities) < MAX_ODDITIES:
            self._oddities.append(oddity)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) != len(pairs):
            for name, count in Counter(name for name, _ in pairs).items():
                if count > 1:
                    self._report(f"duplicate key {quote(name)}")
        return fields

    def _replace_surrogate(self, match: re.Match[str]) -> str:
        if match.group(1) is None:
            return match.group()
        self._report(f"lone surrogate {match.group(1)}")
        return r"\ufffd"


def quote(value: object) -> str:
    """Quote any JSON value on one short printable line."""
    try:
        # Slice first: formatting a whole hostile value could take more memory than reading it.
        text = repr(value[: _MAX_QUOTED + 1]) if isinstance(value, str) else shorten(repr(value))
    except RecursionError:
        return "a deeply nested value"
    return shorten(text)


def shorten(text: str) -> str:
    """Shorten a string to 80 characters, with an ellipsis at the end."""
    return text if len(text) <= _MAX_QUOTED else text[: _MAX_QUOTED - 1] + "…"


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _read_float(literal: str) -> float:
    number = float(literal)
    if math.isinf(number):
        raise ValueError(f"{shorten(literal)} is out of range for a double")
    return number
