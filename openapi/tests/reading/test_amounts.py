"""Amounts in generated sentences: limits of the value wherever they stand, and numbers that limit something else."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from openapi.reading.facts.facts import read_facts
from openapi.reading.grammar.interval import Interval, format_range
from openapi.reading.pages.page import read_page

if TYPE_CHECKING:
    from openapi.reading.facts.fact import Fact

SENTENCES: Final = 150
RANGES: Final = ("items", "length", "range")

Form = Callable[[int, int, str], tuple[str, int | None, int | None]]
# A form gets two numbers and a unit, and returns its words and the bounds that they state.
FORMS: Final[list[Form]] = [
    lambda low, high, unit: (f"{low} to {high} {unit}", low, high),
    lambda low, high, unit: (f"between {low} and {high} {unit}", low, high),
    lambda low, high, unit: (f"from {low} to {high} {unit}", low, high),
    lambda low, high, unit: (f"{low}-{high} {unit}", low, high),
    lambda low, high, unit: (f"{low}\N{EN DASH}{high} {unit}", low, high),
    lambda _, high, unit: (f"up to {high} {unit}", None, high),
    lambda _, high, unit: (f"at most {high:,} {unit}", None, high),
    lambda _, high, unit: (f"{high:,} {unit} at most", None, high),
    lambda _, high, unit: (f"{high} {unit} max", None, high),
    lambda _, high, unit: (f"max. {high} {unit}", None, high),
    lambda _, high, unit: (f"{high} or fewer {unit}", None, high),
    lambda _, high, unit: (f"{high} {unit} or fewer", None, high),
    lambda _, high, unit: (f"no more than {high} {unit}", None, high),
    lambda _, high, unit: (f"limited to {high} {unit}", None, high),
    lambda _, high, unit: (f"a maximum of {high} {unit}", None, high),
    lambda _, high, unit: (f"not exceeding {high} {unit}", None, high),
    lambda low, _, unit: (f"at least {low} {unit}", low, None),
    lambda low, _, unit: (f"{low} or more {unit}", low, None),
    lambda low, _, unit: (f"no fewer than {low} {unit}", low, None),
]
# What is described: the type, the attribute that an amount limits, the unit, and subjects that name the value.
VALUES: Final = [
    ("array of objects", "items", "messages", ["The conversation", "Conversation history", "The dialogue so far"]),
    ("array of strings", "items", "strings", ["Stop sequences", "The phrases that end the text", "A set of words"]),
    ("array of objects", "items", "tools", ["The tools that the model may call", "Your functions", "Tool list"]),
    ("string", "length", "characters", ["The text", "The name of the user", "An identifier for the end user"]),
    ("string", "length", "chars", ["Your prompt", "Description of the picture", "A label that you choose"]),
    ("integer", "range", "tokens", ["Length of the reply", "The size of the thought", "Number of tokens to write"]),
]
JOINTS: Final = ["{0}, {1}", "{0} ({1})", "{0}: {1}", "{0} - {1}"]
EXPLANATIONS: Final = [
    "",
    "",
    ", oldest first",
    " that the model reads",
    " of the conversation",
    " in order",
    ", as plain words",
]

# Numbers that limit something other than the value, with the number in any place
OTHERS: Final = [
    *("supports {n} languages", "Supports up to {n} languages", "since version {n}", "available from release {n}"),
    *("costs {n} tokens per message", "Costs up to {n} credits per message", "billed at {n} tokens per image"),
    *("up to {n} messages per minute", "at most {n} messages per session", "up to {n} tools for paid plans"),
    *("The free tier, up to {n} {unit}", "On the old plan, at most {n} {unit}", "In preview, up to {n} {unit}"),
    *("Legacy models: at most {n} {unit}", "The model sees the last {n} messages at most", "trained on {n} {unit}"),
    *("Usually {n} to {m} {unit}", "We recommend at most {n} {unit}", "better with up to {n} {unit}"),
    *("If streaming, up to {n} {unit}", "Up to {n} {unit}, if the account is new", "Up to {n} {unit} unless agreed"),
    *("Each one, at most {n} {unit}", "Every message holds up to {n} {unit}", "about {n} {unit}", "{n} {unit}"),
    *("Somewhere else, at most {n} {unit}", "In Europe, {n} to {m} {unit}", "answers within {n} seconds"),
    *("The other list, up to {n} {unit}", "The reply, at most {n} {unit}", "A user may open up to {n} sessions"),
    *("The text or the first {n} {unit} at most", "more than {n} {unit} are cut off", "up to {n} {unit} are kept"),
    *("A string has up to {n} readers", "The prompt holds up to {n} pictures", "up to {n} {unit} in the sandbox"),
    *("up to {n} {unit} of the page are shown", "{n} to {m} {unit}, or {n} for teams", "up to {n} {unit} run at once"),
    *("Two accounts, up to {n} {unit}", "not up to {n} {unit}", "never more than about {n} {unit}"),
]


def fact_of(words: str, kind: str) -> Fact:
    """Read a page with one parameter that these words describe."""
    header = "### Request\n\n| Name | Type | Description |\n|---|---|---|\n"
    page = f"{header}| thing | {kind} | {words} |\n| other | string | Words. |\n"
    return next(
        fact for fact in read_facts(read_page(page.encode(), "page.md"), strict=False).facts if fact.path == "thing"
    )


def limits_of(fact: Fact) -> dict[str, str]:
    return {name: format_range(getattr(fact, name)) for name in RANGES if getattr(fact, name)}


def sentence(seed: int) -> tuple[str, str, dict[str, str]]:
    """Return a type, a sentence about a value of it, and the limits that the sentence states."""
    chance = Random(seed)
    kind, attribute, unit, subjects = chance.choice(VALUES)
    low = chance.randint(2, 40)
    words, least, most = chance.choice(FORMS)(low, low + chance.randint(1, 9000), unit)
    before = chance.choice(["", chance.choice(subjects)])
    joint = chance.choice(JOINTS)
    after = chance.choice(EXPLANATIONS)
    if after[:1] == " " and ("(" in joint or words.endswith(("most", "max", "fewer"))):
        after = ""
    whole = (joint.format(before, words) if before else words[0].upper() + words[1:]) + after
    if least is None and attribute != "range":
        least = 0
    return kind, whole + chance.choice([".", ""]), {attribute: format_range((Interval(least, most),))}


@pytest.mark.parametrize("seed", range(SENTENCES))
def test_an_amount_is_read_wherever_it_stands(seed: int) -> None:
    kind, words, expected = sentence(seed)
    fact = fact_of(words, kind)
    assert (expected, ()) == (limits_of(fact), fact.unread), words


@pytest.mark.parametrize("seed", range(SENTENCES))
def test_a_number_that_limits_something_else_is_no_limit_of_the_value(seed: int) -> None:
    chance = Random(seed)
    kind, _, unit, _ = chance.choice(VALUES)
    low = chance.randint(2, 40)
    text = chance.choice(OTHERS).format(n=low, m=low + chance.randint(1, 90), unit=unit)
    fact = fact_of(text, kind)
    assert {} == limits_of(fact), text
    assert text in fact.unread


@pytest.mark.parametrize("text", OTHERS)
@pytest.mark.parametrize(("kind", "unit"), sorted({(kind, unit) for kind, _, unit, _ in VALUES}))
def test_no_such_number_limits_a_value_of_any_type(kind: str, unit: str, text: str) -> None:
    assert {} == limits_of(fact_of(text.format(n=3, m=7, unit=unit), kind))


@pytest.mark.parametrize(
    ("kind", "words", "expected"),
    [
        ("array", "The conversation, 1 to 32 messages.", {"items": "[1, 32]"}),
        ("array", "Conversation history (at most 50 messages)", {"items": "[0, 50]"}),
        ("array", "the last 20 messages at most", {"items": "[0, 20]"}),
        ("array", "A list of up to 4 strings", {"items": "[0, 4]"}),
        ("array", "Stop sequences, up to 4.", {"items": "[0, 4]"}),
        ("array", "Stop sequences (up to four)", {"items": "[0, 4]"}),
        ("array", "The maximum number of messages is 32.", {"items": "[0, 32]"}),
        ("array", "The conversation must contain 1 to 32 messages, oldest first.", {"items": "[1, 32]"}),
        ("array", "You can pass up to 16 tools.", {"items": "[0, 16]"}),
        ("string", "The text, at most 8000 characters", {"length": "[0, 8000]"}),
        ("string", "8,000 characters at most", {"length": "[0, 8000]"}),
    ],
)
def test_common_wordings_are_read(kind: str, words: str, expected: dict[str, str]) -> None:
    fact = fact_of(words, kind)
    assert (expected, ()) == (limits_of(fact), fact.unread)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("string", "The conversation, at most 4096 tokens"),
        ("array of strings", "At most 32 characters"),
        ("integer", "Up to 8 characters"),
        ("boolean", "The text, at most 8 characters"),
    ],
)
def test_an_amount_of_something_that_the_type_does_not_have_is_left_to_a_person(kind: str, words: str) -> None:
    fact = fact_of(words, kind)
    assert ({}, (words,)) == (limits_of(fact), fact.unread)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("array of strings", ({"items": "[0, 4]"}, ())),
        ("string or array of strings", ({"items": "[0, 4]"}, ())),
        ("integer", ({"range": "(-∞, 4]"}, ())),
        ("string", ({}, ("Not more than 4",))),
        ("boolean", ({}, ("Not more than 4",))),
    ],
)
def test_an_amount_without_a_unit_limits_what_the_type_counts(
    kind: str, expected: tuple[dict[str, str], tuple[str, ...]]
) -> None:
    page = f"### Request\n\n| Name | Type | Description |\n|---|---|---|\n| thing | {kind} | Not more than 4. |\n"
    page += "| other | string | x |\n"
    facts = {fact.path: fact for fact in read_facts(read_page(page.encode(), "page.md"), strict=False).facts}
    assert expected == (limits_of(facts["thing"]), facts["thing"].unread)
