"""Read the words of a column of types, which say more than the same words in a sentence do."""

from __future__ import annotations

import re
from typing import Final

from openapi.reading.grammar.types import parse_types
from openapi.reading.grammar.vocabulary import QUOTED, Type, normalize

_WORDS: Final = {
    "string": r"text|utf-?8 text|char(?:acter)?s|uri|url|uuid",
    "boolean": r"flag|switch|truth value|true ?/ ?false|true or false|yes ?/ ?no",
    "integer": r"whole number|count(?:er)?|long",
    "number": r"real(?: number)?|decimal number|floating[- ]point(?: number)?",
    "object": r"mapping|hash|record|struct(?:ure)?|json value",
}
"""Words that are types in a column of types only."""
_SYNONYMS: Final = {name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for name, words in _WORDS.items()}
_ARRAY: Final = re.compile(
    r"(?:an? )?(?:list|array|sequence)s?\b(?:\s+of\b|\s*[\[<(]|$).*|\w+\s*\[\]|\w+ (?:list|array)",
    re.IGNORECASE | re.DOTALL,
)
_VALUES: Final = re.compile(rf"{QUOTED}(?:\s*\|\s*{QUOTED})+")
_ARTICLE: Final = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)


def parse_type_cell(text: str) -> list[Type] | None:
    """Return the types that a cell names, such as `number or null` or `whole number`; None if it names others."""
    words = _ARTICLE.sub("", " ".join(normalize(text).split()))
    if _VALUES.fullmatch(words):  # "low" | "high", as TypeScript writes them
        words = f"literal[{words.replace('|', ',')}]"
    types = parse_types(words)
    if types is None:
        for name, synonym in _SYNONYMS.items():
            words = synonym.sub(name, words)
        types = parse_types(words)
    return types


def is_array_of_unknown(text: str) -> bool:
    """Return whether a cell names a list whose elements have no known type, such as `list of messages`."""
    words = " ".join(normalize(text).split())
    return parse_type_cell(words) is None and _ARRAY.fullmatch(words) is not None


def is_type_cell(text: str) -> bool:
    """Return whether a cell names types, also with words in brackets behind them."""
    words = re.sub(r"\s*\(.*\)$", "", " ".join(normalize(text).split()))
    return parse_type_cell(words) is not None or is_array_of_unknown(words)
