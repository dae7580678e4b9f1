"""Tests of the pattern of equal texts among the choices of one answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.judge.checks.choices import every_choice_is_drawn_by_itself
from conformance.statistics import NO_PATTERN

if TYPE_CHECKING:
    from conformance.check import Round


def answer(*texts: str) -> Round:
    choices = {index: SimpleNamespace(content=text * 10) for index, text in enumerate(texts)}
    exchange: Any = SimpleNamespace(choices=choices)
    return {"four": exchange}


ONE_REPEATS = answer("a", "b", "b", "b")


@pytest.mark.parametrize(
    ("round_", "earlier", "expected"),
    [
        (answer("a", "b", "c", "d"), [], True),
        (ONE_REPEATS, [], None),
        (ONE_REPEATS, [ONE_REPEATS], False),
        (answer("a", "a", "b", "c"), [ONE_REPEATS], True),
        (answer("a", "a", "a", "a"), [ONE_REPEATS], None),
    ],
)
def test_only_the_same_pattern_of_equal_choices_counts_against_a_server(
    round_: Round, earlier: list[Round], expected: bool | None
) -> None:
    assert every_choice_is_drawn_by_itself.trial is not None
    assert every_choice_is_drawn_by_itself.trial.predicate(round_, earlier) is expected


def test_eleven_rounds_with_one_pattern_are_needed() -> None:
    assert NO_PATTERN.decide([False] * 10) == "open"
    assert NO_PATTERN.decide([False] * 11) == "ignored"
    assert NO_PATTERN.decide([True]) == "honoured"
