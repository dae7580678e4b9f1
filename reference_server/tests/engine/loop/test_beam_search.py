"""BeamSearch without a model, compared with the reference."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from tokenizers import Tokenizer, decoders, models

from reference_server.engine import EngineError, SamplingParams
from reference_server.engine.device import torch
from reference_server.engine.loop.beam_search import BeamSearch
from reference_server.engine.loop.sequence import Cancellation
from reference_server.engine.text.transcript import AnswerSpec, StepStats
from reference_server.engine.vocabulary import Vocabulary
from reference_server.tests.engine.loop.naive_beam_search import Tokens, reference

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def synthetic(vocabulary: int, seed: int) -> Callable[[Tokens], list[float]]:
    """Return a function for log-probabilities that depend only on the tokens so far."""

    @cache
    def logprobs(tokens: Tokens) -> list[float]:
        generator = random.Random(repr((seed, tokens)))
        logits = [generator.gauss(0, 1.5) for _ in range(vocabulary)]
        total = math.log(math.fsum(map(math.exp, logits)))
        return [logit - total for logit in logits]

    return logprobs


def _tokenizer(*pieces: str) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE({piece: at for at, piece in enumerate(pieces)}, []))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def search(
    logprobs: Callable[[Tokens], Sequence[float]],
    params: SamplingParams,
    *,
    limit: int,
    ends: frozenset[int],
    tokenizer: Tokenizer | None = None,
) -> list[Tokens]:
    """Return the answers of a BeamSearch that gets its logits from a function."""
    vocabulary = Vocabulary(tokenizer or _tokenizer())
    running = BeamSearch([1], AnswerSpec(vocabulary, params, limit, ends), Cancellation(), ready_at=0.0)
    steps = 0
    while not running.done:
        logits = torch.tensor([logprobs(tuple(beam.generated)) for beam in running.beams]) + steps
        rows = {beam: list(beam.generated) for beam in running.beams}
        moves = running.advance(logits, logits)
        assert {source for source, _ in moves}.isdisjoint(target for _, target in moves)
        for source, target in moves:
            rows[target] = rows[source]
        for beam in running.running_beams():  # the row of a beam contains what it continues
            assert beam.generated[:-1] == rows[beam]
        running.record_step(StepStats(1, 0.0, 0.0))
        steps += 1
    return [tuple(delta.token_id for delta in answer) for answer in running.collect_answers()]


@pytest.mark.parametrize("ends", [frozenset(), frozenset({0}), frozenset({0, 1, 2, 3, 77, -1})], ids=len)
@pytest.mark.parametrize("length_penalty", [-1.0, 0.0, 1.0, 2.5])
@pytest.mark.parametrize(
    ("width", "groups", "diversity"), [(1, 1, 0.0), (2, 1, 9.0), (5, 1, 0.0), (4, 2, 0.7), (6, 3, 2.0), (4, 4, -0.4)]
)
def test_answers_are_those_of_the_reference(
    width: int, groups: int, diversity: float, length_penalty: float, ends: frozenset[int]
) -> None:
    params = SamplingParams(
        beam_search=True,
        n=width,
        beam_groups=groups,
        diversity_penalty=diversity,
        length_penalty=length_penalty,
    )
    for seed, limit in ((1, 1), (2, 2), (3, 9), (4, 9), (5, 9)):
        table = synthetic(11, seed)
        expected = reference(table, params, limit=limit, ends=lambda tokens: tokens[-1] in ends)
        assert expected == search(table, params, limit=limit, ends=ends)


def test_an_exhaustive_search_finds_the_most_likely_answers() -> None:
    table = synthetic(4, 6)

    def total(tokens: Tokens) -> float:
        return sum(table(tokens[:at])[token] for at, token in enumerate(tokens))

    params = SamplingParams(beam_search=True, n=3, best_of=64, length_penalty=0.0)
    every = sorted(itertools.product(range(4), repeat=4), key=lambda tokens: -total(tokens))
    assert every[:3] == search(table, params, limit=4, ends=frozenset())


def test_surplus_beams_are_idle_until_there_are_enough_continuations() -> None:
    params = SamplingParams(beam_search=True, n=9)
    expected = reference(synthetic(3, 7), params, limit=5, ends=lambda _: False)
    assert len(set(expected)) == 9
    assert expected == search(synthetic(3, 7), params, limit=5, ends=frozenset())


@pytest.mark.parametrize("stops", [("a",), ("ab", "ca"), ("bcb",), ("a", "b", "c"), ("é",), ("aé", "éx")], ids=str)
def test_a_stop_string_ends_a_beam_however_it_is_tokenized(stops: tuple[str, ...]) -> None:
    tokenizer = _tokenizer(
        "a", "b", "c", "ab", "bc", "ca", "aa", "xa", "ax", "x", "Ã", "©"
    )  # the last two are the bytes of an é
    params = SamplingParams(beam_search=True, n=4, stop=stops)

    def ends(tokens: Tokens) -> bool:
        text = tokenizer.decode(list(tokens))
        return any(stop in text for stop in stops)

    for seed in range(8):
        expected = reference(synthetic(12, seed), params, limit=6, ends=ends)
        assert expected == search(synthetic(12, seed), params, limit=6, ends=frozenset(), tokenizer=tokenizer)


def test_an_impossible_continuation_is_never_an_answer() -> None:
    def table(_: Tokens) -> list[float]:
        return [math.log(0.5), -math.inf, math.log(0.5)]

    params = SamplingParams(beam_search=True, n=4, best_of=8)
    answers = search(table, params, limit=2, ends=frozenset())
    assert sorted(answers) == [(0, 0), (0, 2), (2, 0), (2, 2)]
    with pytest.raises(EngineError, match="only 4 possible"):
        search(table, dataclasses.replace(params, n=5), limit=2, ends=frozenset())


@pytest.mark.parametrize("extreme", [1e308, -1e308])
def test_extreme_penalties_still_give_answers(extreme: float) -> None:
    params = SamplingParams(
        beam_search=True, n=4, beam_groups=2, length_penalty=extreme, diversity_penalty=abs(extreme)
    )
    assert len(search(synthetic(9, 8), params, limit=40, ends=frozenset({0}))) == 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"length_penalty": math.nan},
        {"length_penalty": math.inf},
        {"diversity_penalty": -math.inf},
        {"beam_groups": 0},
        {"beam_groups": 3},
    ],
    ids=str,
)
def test_errors_name_numbers_out_of_range(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=rf"^(invalid )?{next(iter(wrong))}\b"):
        SamplingParams(beam_search=True, n=4, **wrong)
