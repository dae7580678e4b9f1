"""Tests of the check of temperatures, on tokens that are drawn here."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from conformance.judge.checks.effects.drawn import judge_choices, judge_entries
from conformance.judge.logprob_entries import LogprobEntry
from conformance.proof.editing.responses import with_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.tests.conftest import Good

LISTED = 20
HOT = "cold-and-hot", "hot"


def draw(
    rng: Random,
    temperature: float,
    *,
    top_k: int = 1000,
    min_p: float = 0.0,
    tokens: int = 0,
    lists_drawn: bool = False,
    same_names: int = 0,
) -> Iterator[Any]:
    """Yield the entries of tokens that a server draws from a thousand.

    lists_drawn: whether the drawn token is listed in the place of the last one. same_names: how many tokens share one.
    """
    for _ in range(tokens):
        logits = sorted((rng.gauss(0, 2.5) for _ in range(1000)), reverse=True)
        whole = math.log(sum(map(math.exp, logits)))
        known = [logit - whole for logit in logits]
        kept = [value for value in known[:top_k] if value >= known[0] + math.log(min_p or 1e-300)]
        at = rng.choices(range(len(kept)), [math.exp((value - known[0]) / temperature) for value in kept])[0]
        shown = [*range(LISTED - 1), at if lists_drawn and at >= LISTED else LISTED - 1]
        names = [f"w{max(rank, same_names)}" for rank in range(1000)]
        top = [{"token": names[rank], "logprob": known[rank], "bytes": None} for rank in shown]
        yield LogprobEntry("/0", {"token": names[at], "logprob": known[at], "bytes": None, "top_logprobs": top})


@pytest.mark.takes_turns
@pytest.mark.parametrize(
    ("part", "asked", "served", "found"),
    [
        ("cool", {"temperature": 0.45}, {"temperature": 0.45}, 0),
        ("cool", {"temperature": 0.45}, {"temperature": 0.45, "min_p": 0.05}, 0),
        ("cool", {"temperature": 0.45}, {"temperature": 0.45, "top_k": 40}, 0),
        ("cool", {"temperature": 0.45}, {"temperature": 0.2}, 1),
        ("cool", {"temperature": 0.45}, {"temperature": 0.01}, 1),
        ("cool", {"temperature": 0.45}, {"temperature": 1.0}, 1),
        ("hot", {"temperature": 2.0, "top_k": 20}, {"temperature": 2.0, "top_k": 20}, 0),
        ("hot", {"temperature": 2.0, "top_k": 20}, {"temperature": 2.0, "top_k": 8}, 1),
        ("hot", {"temperature": 2.0, "top_k": 20}, {"temperature": 0.5, "top_k": 20}, 1),
        ("hot", {"temperature": 2.0}, {"temperature": 2.0, "min_p": 0.05}, 0),
        ("all", {"temperature": 2.0, "top_k": -1}, {"temperature": 2.0}, 0),
        ("hot", {"temperature": 2.0}, {"temperature": 2.0, "lists_drawn": True}, 0),
        ("all", {"temperature": 2.0, "top_k": -1}, {"temperature": 2.0, "same_names": 8}, 0),
        ("all", {"temperature": 2.0, "top_k": -1}, {"temperature": 0.01}, 1),
    ],
)
def test_a_temperature_is_wrong_if_tokens_are_drawn_more_or_less_often_than_it_says(
    part: str, asked: dict[str, Any], served: dict[str, Any], found: int
) -> None:
    tokens = {"cool": 120, "hot": 300, "all": 100}[part]
    for seed in range(8):
        entries = list(draw(Random(seed), **served, tokens=tokens))
        assert len(list(judge_entries(part, asked, entries))) == found, seed


def test_a_model_that_is_certain_shows_nothing() -> None:
    item = {"token": "a", "logprob": 0.0, "bytes": None}
    entry = LogprobEntry("/0", {**item, "top_logprobs": [item]})
    assert list(judge_entries("cool", {"temperature": 0.45}, [entry] * 80)) == []


@pytest.mark.parametrize(
    ("texts", "found"), [(["a", *"bbbbbbb"], 1), (list("bbbbbbbb"), 1), (list("abbbbbbc"), 0), (list("abb"), 0)]
)
def test_equal_choices_are_a_fault_unless_there_are_few(
    read_good: Callable[[str], Good], texts: list[str], found: int
) -> None:
    hot = next(
        exchange for (name, step), exchange in read_good("mindie-2.3").exchanges.items() if (name, step[:3]) == HOT
    )
    choices = [
        {**choice, "message": {**choice["message"], "content": text}}
        for choice, text in zip(hot.json["choices"], texts, strict=False)
    ]
    changed = with_json(hot, {**hot.json, "choices": choices})
    assert found == len(list(judge_choices(changed)))
