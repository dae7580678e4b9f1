"""A range behind words that only describe the value is read; one in a sentence about something else is not."""

from __future__ import annotations

from itertools import product

import pytest

from openapi.reading.grammar.clauses import read_text
from openapi.reading.grammar.interval import Interval

DESCRIPTIONS = [
    "Most tokens to generate",
    "How many tokens the answer has",
    "Number of tokens",
    "The maximum number of tokens to generate",
    "Controls how long the answer is",
]
SPANS = ["1 to 2048", "1-2048", "between 1 and 2048", "from 1 up to 2048", "1..2048"]
JOINTS = ["{}, {}", "{}: {}", "{} ({})", "{} - {}"]
OTHERS = [
    "Trained on texts from 2019 to 2023",
    "The tokens, 2019 to 2023",
    "Supported in versions 1.2 to 1.4",
    "Improves the answer, 10 to 20%",
    "Fails with a status, 400 to 499",
    "Error codes from 400 to 499",
    "For a free plan, 1 to 4",
    "Number of tokens of the beta, 1 to 4",
    "Works best at a level from 3 to 5",
    "The answer takes 2 to 3 seconds",
    "Better answers, 1 to 4",
    "Number of tokens, 1 to 4 if the model is small",
]


@pytest.mark.parametrize(("description", "span", "joint"), list(product(DESCRIPTIONS, SPANS, JOINTS)))
def test_a_range_behind_a_description_is_read(description: str, span: str, joint: str) -> None:
    read = read_text(f"{joint.format(description, span)}.", "max_tokens")
    ranges = [statement.value for statement in read.statements if statement.attribute == "range"]
    assert [(1, 2048)] == [(one.low, one.high) for (one,) in ranges]
    assert (description,) == read.unread


@pytest.mark.parametrize("sentence", OTHERS)
def test_a_range_of_something_else_is_not_read(sentence: str) -> None:
    read = read_text(f"{sentence}.", "max_tokens")
    assert ((), (sentence,)) == (read.statements, read.unread)


def test_facts_in_brackets_at_the_end_of_a_sentence_are_read_unless_it_restricts_them() -> None:
    read = read_text("How random the answer is, 0 to 2 (default 1).", "temperature")
    assert {"range": (Interval(0, 2, None, None),), "default": 1} == {
        statement.attribute: statement.value for statement in read.statements
    }
    assert () == read_text("The temperature of the first call (default 1).", "temperature").statements
