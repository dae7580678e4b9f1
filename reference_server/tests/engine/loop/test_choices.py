"""Several choices of one request: separate random numbers, ranking, and shared slots."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine import Delta, EngineError, SamplingParams
from reference_server.engine.detokenizer import Detokenizer
from reference_server.engine.device import torch
from reference_server.engine.loop import output_worker
from reference_server.engine.loop.generation import deliver_all
from reference_server.engine.sampling.sampler import derive_seed

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine.loop.local_engine import LocalEngine

PROMPT = list(range(5, 40))
GREEDY = SamplingParams(temperature=0, max_tokens=20, ignore_eos=True)
SAMPLED = SamplingParams(seed=11, max_tokens=20, ignore_eos=True)


async def collect(engine: LocalEngine, params: SamplingParams, prompt: list[int] = PROMPT) -> list[Delta]:
    return [delta async for delta in engine.submit(prompt, params)]


def run(engine: LocalEngine, params: SamplingParams, prompt: list[int] = PROMPT) -> list[Delta]:
    return asyncio.run(collect(engine, params, prompt))


def by_choice(deltas: list[Delta]) -> list[list[int]]:
    """Return the tokens of choice 0, 1, ..."""
    choices: dict[int, list[int]] = defaultdict(list)
    for delta in deltas:
        choices[delta.index].append(delta.token_id)
    assert sorted(choices) == list(range(len(choices)))
    return [choices[index] for index in range(len(choices))]


def tokens(deltas: list[Delta]) -> list[int]:
    return [delta.token_id for delta in deltas]


@pytest.fixture
def prefills(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> list[list[list[int]]]:
    """Return a list that collects the prompts of each prefill."""
    passes: list[list[list[int]]] = []
    prefill = engine._runner.prefill

    def recorded(prompts: list[list[int]], slots: list[int], starts: list[int]) -> torch.Tensor:
        passes.append(prompts)
        return prefill(prompts, slots, starts)

    monkeypatch.setattr(engine._runner, "prefill", recorded)
    return passes


def alone(engine: LocalEngine, params: SamplingParams, choice: int, prompt: list[int] = PROMPT) -> list[Delta]:
    """Return the deltas of a choice, requested as the only one."""
    seed = derive_seed(params.seed or 0, choice)
    return run(engine, dataclasses.replace(params, seed=seed, n=1, best_of=None), prompt)


@pytest.mark.takes_turns
@pytest.mark.parametrize("prompt", [PROMPT, list(range(200))], ids=len)
@pytest.mark.parametrize("slots", [1, 2, 8])
def test_every_choice_has_the_tokens_of_its_own_seed(
    load_engine: Callable[..., LocalEngine], slots: int, prompt: list[int]
) -> None:
    engine = load_engine(slots=slots)
    actual = by_choice(run(engine, dataclasses.replace(SAMPLED, n=5), prompt))
    assert actual == [tokens(alone(engine, SAMPLED, choice, prompt)) for choice in range(5)]
    assert actual[0] == tokens(run(engine, SAMPLED, prompt))
    assert len(set(map(tuple, actual))) == 5


def test_the_seeds_of_choices_never_change() -> None:
    assert [derive_seed(7, 0), derive_seed(7, 1)] == [7, 3839616360365740667]
    seeds = {derive_seed(seed, choice) for seed in (0, 1, 2**64 - 1) for choice in range(128)}
    assert len(seeds) == 3 * 128
    assert max(seeds) < 2**64


def test_penalties_of_one_choice_do_not_count_the_tokens_of_another(engine: LocalEngine) -> None:
    params = dataclasses.replace(SAMPLED, frequency_penalty=1.5, repetition_penalty=1.3, logprobs=2)
    actual = run(engine, dataclasses.replace(params, n=4))
    for choice in range(4):
        own = [dataclasses.replace(delta, index=0) for delta in actual if delta.index == choice]
        expected = alone(engine, params, choice)
        assert [(delta.token_id, delta.logprob) for delta in expected] == [(d.token_id, d.logprob) for d in own]


def test_greedy_choices_are_all_the_same(engine: LocalEngine) -> None:
    params = SamplingParams(temperature=0, max_tokens=9, ignore_eos=True)
    assert by_choice(run(engine, dataclasses.replace(params, n=3))) == [tokens(run(engine, params))] * 3


def test_choices_grow_in_parallel(engine: LocalEngine) -> None:
    deltas = run(engine, dataclasses.replace(SAMPLED, n=3))
    assert [delta.index for delta in deltas] == [0, 1, 2] * 20
    assert [delta.finish_reason for delta in deltas[-4:]] == [None, "length", "length", "length"]


def test_choices_that_start_together_share_one_prefill(engine: LocalEngine, prefills: list[list[list[int]]]) -> None:
    run(engine, dataclasses.replace(SAMPLED, n=4))
    assert prefills == [[PROMPT]]


def test_choices_and_other_requests_share_a_batch(engine: LocalEngine) -> None:
    other = dataclasses.replace(SAMPLED, seed=3)
    expected = [tokens(run(engine, other, [9] * 20)), by_choice(run(engine, dataclasses.replace(SAMPLED, n=6)))]

    async def together() -> tuple[list[Delta], list[Delta]]:
        several = collect(engine, dataclasses.replace(SAMPLED, n=6))
        return await asyncio.gather(collect(engine, other, [9] * 20), several)

    single, several = asyncio.run(together())
    assert expected == [tokens(single), by_choice(several)]


class TestBestOf:
    """The most likely of several sequences."""

    @pytest.mark.parametrize(("n", "best_of"), [(1, 2), (1, 6), (3, 6), (5, 6)])
    def test_the_most_likely_are_returned_best_first(self, engine: LocalEngine, n: int, best_of: int) -> None:
        params = dataclasses.replace(SAMPLED, logprobs=1)
        every = [alone(engine, params, choice) for choice in range(best_of)]
        sums = [sum(delta.logprob.logprob for delta in deltas if delta.logprob) for deltas in every]
        order = sorted(range(best_of), key=lambda choice: -sums[choice])[:n]
        actual = run(engine, dataclasses.replace(params, n=n, best_of=best_of))
        assert [tokens(every[choice]) for choice in order] == by_choice(actual)
        assert [delta.logprob for choice in order for delta in every[choice]] == [delta.logprob for delta in actual]
        assert "".join(delta.text for choice in order for delta in every[choice]) == "".join(d.text for d in actual)

    def test_sequences_are_not_ranked_if_all_are_returned(self, engine: LocalEngine) -> None:
        plain = dataclasses.replace(SAMPLED, n=3)
        assert by_choice(run(engine, plain)) == by_choice(run(engine, dataclasses.replace(plain, best_of=3)))

    def test_nothing_is_delivered_before_the_end(self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        sizes: list[int] = []

        def recorded(items: list[Any]) -> None:
            sizes.append(len(items))
            deliver_all(items)

        monkeypatch.setattr(output_worker, "deliver_all", recorded)
        run(engine, dataclasses.replace(SAMPLED, n=2, best_of=4))
        assert sizes == [0] * 19 + [40]

    def test_equally_likely_sequences_keep_their_order(self, engine: LocalEngine) -> None:
        params = SamplingParams(temperature=0, max_tokens=3, ignore_eos=True, n=2, best_of=4)
        assert [delta.index for delta in run(engine, params)] == [0] * 3 + [1] * 3

    def test_logprobs_used_only_for_ranking_are_not_returned(self, engine: LocalEngine) -> None:
        assert {delta.logprob for delta in run(engine, dataclasses.replace(SAMPLED, n=1, best_of=2))} == {None}


class TestRequestAsAWhole:
    """The sequences of a request are cancelled together and fail together, without effect on other requests."""

    def test_cancel_frees_every_slot(self, engine: LocalEngine) -> None:
        async def scenario() -> None:
            generation = engine.submit(PROMPT, SamplingParams(n=9, ignore_eos=True))
            await anext(generation)
            generation.cancel()
            assert [delta async for delta in generation] == []
            await collect(engine, SAMPLED)

        asyncio.run(scenario())
        assert engine._driver.generations == {}
        assert engine._driver.scheduler.free_slots == 4

    @pytest.mark.parametrize("changes", [{}, {"best_of": 4}, {"frequency_penalty": 1.0}, {"temperature": 0}], ids=str)
    def test_nan_logits_end_the_whole_request(
        self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
    ) -> None:
        decode = engine._runner.decode

        def overflowing(tokens: list[int], positions: list[int], slots: list[int]) -> torch.Tensor:
            logits = decode(tokens, positions, slots)
            logits[[slot == 1 and position > 40 for slot, position in zip(slots, positions, strict=True)]] = torch.nan
            return logits

        monkeypatch.setattr(engine._runner, "decode", overflowing)

        async def scenario() -> tuple[list[Delta] | BaseException, list[Delta] | BaseException]:
            several = collect(engine, dataclasses.replace(SAMPLED, n=3, **changes))
            return await asyncio.gather(several, collect(engine, SAMPLED, [4] * 3), return_exceptions=True)

        failed, finished = asyncio.run(scenario())
        assert isinstance(failed, EngineError)
        assert isinstance(finished, list)
        assert len(finished) == 20
        assert (engine._driver.generations, engine._driver.scheduler.free_slots, engine.alive) == ({}, 4, True)

    def test_the_sequences_of_a_failed_request_stop(self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        decode = engine._runner.decode
        sizes: list[int] = []

        def overflowing(tokens: list[int], positions: list[int], slots: list[int]) -> torch.Tensor:
            sizes.append(len(slots))
            logits = decode(tokens, positions, slots)
            logits[[slot == 2 for slot in slots]] = torch.nan
            return logits

        monkeypatch.setattr(engine._runner, "decode", overflowing)
        with pytest.raises(EngineError):
            run(engine, dataclasses.replace(SAMPLED, n=11))
        monkeypatch.setattr(engine._runner, "decode", decode)
        assert len(run(engine, SAMPLED)) == 20
        assert sizes == [4]

    def test_a_detokenizer_error_ends_no_other_request(
        self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        failing_token = next(
            iter({*tokens(run(engine, dataclasses.replace(SAMPLED, n=2)))} - {*tokens(run(engine, GREEDY))})
        )

        def broken_push(_detokenizer: Detokenizer, token_id: int) -> str:
            if token_id == failing_token:
                raise RuntimeError("cannot be decoded")
            return ""

        monkeypatch.setattr(Detokenizer, "push", broken_push)

        async def scenario() -> tuple[list[Delta] | BaseException, list[Delta] | BaseException]:
            several = collect(engine, dataclasses.replace(SAMPLED, n=2))
            return await asyncio.gather(several, collect(engine, GREEDY), return_exceptions=True)

        failed, finished = asyncio.run(scenario())
        assert isinstance(failed, EngineError)
        assert "cannot be decoded" in str(failed)
        assert isinstance(finished, list)
        assert len(finished) == 20
        assert (engine._driver.generations, engine._driver.scheduler.free_slots, engine.alive) == ({}, 4, True)

    def test_a_failed_engine_delivers_one_error_per_request(
        self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: Any) -> torch.Tensor:
            raise RuntimeError("device lost")

        monkeypatch.setattr(engine._runner, "decode", broken)

        async def scenario() -> None:
            generation = engine.submit(PROMPT, dataclasses.replace(SAMPLED, n=3))
            with pytest.raises(EngineError, match="device lost"):
                [delta async for delta in generation]
            assert not generation._queue

        asyncio.run(scenario())


@pytest.mark.parametrize(
    "wrong", [{"n": 0}, {"n": 129}, {"best_of": 0}, {"best_of": 129}, {"best_of": 2, "n": 3}], ids=str
)
def test_errors_name_numbers_out_of_range(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=rf"^(invalid )?{next(iter(wrong))}\b"):
        SamplingParams(**wrong)
