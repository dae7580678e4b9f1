"""Amounts of each element in generated sentences, with numbers in digits and in words."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest

from openapi.reading.facts.facts import read_facts
from openapi.reading.grammar.interval import Interval, format_range
from openapi.reading.pages.page import read_page

WORDS: Final = {2: "two", 4: "four", 12: "twelve", 16: "sixteen", 32: "thirty-two", 256: "two hundred and fifty-six"}
OUTER: Final = (
    *("No more than {n} {unit}", "Up to {n} {unit}", "At most {n} {unit}", "{n} or fewer {unit}"),
    *("A list of up to {n} {unit}", "A maximum of {n} {unit}"),
)
INNER: Final = (
    *("{0} of {1} each", "{0}, each of {1}", "{0}, each {1}", "{0} with {1} each", "{0} ({1} each)", "{0}, {1} each"),
    *(
        "{0} that each have {1}",
        "{0}. Each has {1}",
        "{0}. Each {one} has {1}",
        "{0}, {1} per {one}",
        "{0} of {1} apiece",
    ),
    "{0}, every {one} with {1}",
)
AMOUNTS: Final = (
    ("up to {m} characters", 0),
    ("at most {m} characters", 0),
    ("no more than {m} characters", 0),
    ("1 to {m} characters", 1),
    ("between one and {m} characters", 1),
)
UNITS: Final = {"sequence": "sequences", "string": "strings", "entry": "entries", "word": "words"}
DRAWS: Final = 200


def limits_of(text: str, kind: str) -> tuple[str, str, list[str]]:
    """Return the numbers of elements and of their characters that a page states, and what is left to a person."""
    header = "### Request\n\n| Name | Type | Description |\n|---|---|---|\n"
    page = f"{header}| thing | {kind} | {text} |\n| other | string | x |\n"
    facts = {fact.path: fact for fact in read_facts(read_page(page.encode(), "page.md"), strict=False).facts}
    element = facts.get("thing[]")
    unread = [words for path in ("thing", "thing[]") if path in facts for words in facts[path].unread]
    return format_range(facts["thing"].items), format_range(element.length) if element else "", unread


def spell(number: int, chance: Random) -> str:
    return chance.choice((str(number), WORDS[number]))


@pytest.mark.parametrize("seed", range(DRAWS))
def test_the_number_of_elements_and_of_their_characters_are_read_from_one_sentence(seed: int) -> None:
    chance = Random(seed)
    most, longest = chance.choice((2, 4, 12, 16)), chance.choice((12, 32, 256))
    one, unit = chance.choice(list(UNITS.items()))
    amount, least = chance.choice(AMOUNTS)
    outer = chance.choice(OUTER).format(n=spell(most, chance), unit=unit)
    text = chance.choice(INNER).format(outer, amount.format(m=spell(longest, chance)), one=one) + "."
    expected: tuple[str, str, list[str]]
    expected = (format_range((Interval(0, most),)), format_range((Interval(least, longest),)), [])
    assert expected == limits_of(text, "array of strings"), text


@pytest.mark.parametrize(
    "text",
    [
        "Every message holds up to 32 characters.",
        "Each one, at most 3 characters.",
        "Up to 4 sequences of 32 characters.",
        "Each plan allows up to 32 characters.",
        "Each request may have at most 32 characters.",
        "If streaming, at most 32 characters each.",
        "At most 32 tokens each.",
    ],
)
def test_other_amounts_limit_no_element(text: str) -> None:
    assert ("", "", [text.removesuffix(".")]) == limits_of(text, "array of strings")


@pytest.mark.parametrize("kind", ["string", "integer", "object"])
def test_a_value_without_elements_has_no_amount_for_each(kind: str) -> None:
    assert ("", "", ["Each string has at most 32 characters"]) == limits_of(
        "Each string has at most 32 characters", kind
    )
