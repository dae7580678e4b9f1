"""Fields of objects that one sentence states, in any of its wordings."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from openapi.reading.grammar.clauses import read_text

SEEDS = range(40)
SUBJECTS = {"Each": "[]", "Each message": "[]", "Every one of them": "[]", "An object": "", "It": ""}
VERBS = ("has", "contains", "is an object with", "must have", "includes the fields")
KINDS = ("string", "integer", "boolean", "object")


def draw_field(name: str, chance: Random) -> tuple[str, set[tuple[str, Any]]]:
    """Return the words about a field, and the attributes that they state."""
    kind = chance.choice(KINDS)
    first, second = chance.sample(("calm", "lively", "sad"), 2)
    return chance.choice(
        (
            (f"a `{name}` {kind}", {("types", (kind,))}),
            (f"`{name}` ({kind}, required)", {("types", (kind,)), ("required", "yes")}),
            (f"an optional `{name}` ({kind})", {("types", (kind,)), ("required", "no")}),
            (f"the `{name}` (`{first}` or `{second}`)", {("enum", (first, second))}),
            (f"`{name}` (one of `{first}`, `{second}`)", {("enum", (first, second))}),
            (
                f"a required `{name}` field ({kind} or null)",
                {("types", (kind,)), ("nullable", True), ("required", "yes")},
            ),
        )
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_fields_of_a_sentence_are_read_with_what_it_says_about_each(seed: int) -> None:
    chance = Random(seed)
    subject, verb = chance.choice(list(SUBJECTS)), chance.choice(VERBS)
    names = chance.sample(("role", "content", "tone", "mark"), chance.randint(1, 3))
    drawn = {name: draw_field(name, chance) for name in names}
    words = [text for text, _ in drawn.values()]
    listed = ", ".join(words[:-1]) + (" and " if words[1:] else "") + words[-1]
    parsed = read_text(f"{subject} {verb} {listed}.", "messages")
    at = SUBJECTS[subject]
    expected = {f"{at}.{name}": stated for name, (_, stated) in drawn.items()}
    read: dict[str, set[tuple[str, Any]]] = {}
    for statement in parsed.statements:
        read.setdefault(statement.at, set()).add((statement.attribute, statement.value))
    assert ((), expected) == (parsed.unread, read)


@pytest.mark.parametrize(
    "text",
    [
        "Each message has a role",
        "Each contains text and images",
        "Each has a `role` (as in a play) and a `content` string",
        "Usually each has a `role` string",
    ],
)
def test_a_sentence_with_other_words_is_left_to_a_person(text: str) -> None:
    parsed = read_text(f"{text}.", "messages")
    assert ((), text) == (parsed.statements, " ".join(parsed.unread))
