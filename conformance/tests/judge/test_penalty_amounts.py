"""Tests of the amounts that penalties subtract, on entries of log-probabilities."""

from __future__ import annotations

from typing import Any

from conformance.judge.checks.effects.amounts import _compare_amounts, _compare_choices, list_penalties
from conformance.judge.logprob_entries import LogprobEntry


def item(token: str, logprob: float) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}


def entry(token: str, **alternatives: float) -> LogprobEntry:
    top = [item(name, logprob) for name, logprob in alternatives.items()]
    return LogprobEntry("/0", {**item(token, alternatives[token]), "top_logprobs": top})


def test_a_token_owes_the_presence_once_and_the_frequency_each_time() -> None:
    found = list(list_penalties([entry("red", red=-0.1), entry("red", red=-0.1), entry("fox", fox=-0.1)], 1.5, 0.5))
    assert found == [{}, {("red", b"red"): 2.0}, {("red", b"red"): 2.5}]


def test_the_choice_must_have_the_greatest_difference() -> None:
    first, kept, left = (
        entry("red", red=-0.1, fox=-5.0),
        entry("red", red=-0.1, fox=-5.0),
        entry("fox", red=-0.1, fox=-5.0),
    )
    owed: list[dict[tuple[str, bytes | None], float]] = [{}, {("red", b"red"): 3.0}]
    assert list(_compare_choices([first, kept], owed)) == []
    assert [finding.where for finding in _compare_choices([first, left], owed)] == ["/0"]


def test_log_probabilities_that_include_penalties_change_by_them() -> None:
    free = [(0.0, 0.2), (0.0, 0.3), (0.0, 0.2)]
    assert list(_compare_amounts([*free, (3.0, -2.8)])) == []
    assert len(list(_compare_amounts([*free, (3.0, -5.8)]))) == 1
