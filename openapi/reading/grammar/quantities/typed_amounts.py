"""Rules for amounts behind a type, such as `a string of up to 64 characters` and `array of at most 2 strings`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.quantities.amounts import read_amount, read_bare_amount
from openapi.reading.grammar.rule import Preceding, rule
from openapi.reading.grammar.types import parse_types, type_statements
from openapi.reading.grammar.vocabulary import TYPE

if TYPE_CHECKING:
    import re

    from openapi.reading.grammar.statement import Statement

_OF: Final = r"(?:of|with|containing|that (?:has|holds|contains))"


def _of_type(match: re.Match[str], name: str) -> list[Statement] | None:
    """Read `a string of up to 64 characters`."""
    types = parse_types(match["type"])
    amount = read_bare_amount(match["amount"], name)
    if types is None or amount is None:
        return None
    return [*type_statements(types), *_with_elements(amount, match["amount"])]


def _of_stated_type(match: re.Match[str], name: str) -> list[Statement] | None:
    """Read `of up to 64 characters`, behind a type that stands elsewhere."""
    amount = read_bare_amount(match["amount"], name)
    return amount and _with_elements(amount, match["amount"])


def _with_elements(amount: list[Statement], words: str) -> list[Statement]:
    """Return an amount of elements with their type, if the unit is one: `up to 2 strings`."""
    kinds = parse_types(words.split()[-1].removesuffix("s"))
    if kinds is None or [one.attribute for one in amount] != ["items"]:
        return amount
    return [*amount, *(replace(one, at=f"[]{one.at}") for one in type_statements(kinds))]


RULES: Final = (
    rule(rf"(?:an? )?(?P<type>{TYPE}) {_OF} (?P<amount>.+)", _of_type, Preceding.READ),
    rule(rf"{_OF} (?P<amount>.+)", _of_stated_type, Preceding.READ),
)


def read_any_amount(text: str, name: str) -> list[Statement] | None:
    """Read an amount with the words around it, also behind a type; None for other text."""
    typed = (read for one in RULES if (read := one.read(text, name)) is not None)
    return read_amount(text, name) or next(typed, None)
