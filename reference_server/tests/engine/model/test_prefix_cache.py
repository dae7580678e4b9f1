"""Reuse of common prompt prefixes: it is counted and does not change any answer."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine import Delta, SamplingParams
from reference_server.engine.loop.scheduler import RowCopy, Scheduler
from reference_server.engine.loop.sequence import Cancellation, Sequence
from reference_server.engine.model.prefix_cache import PrefixCache
from reference_server.tests import runs
from reference_server.tests.runs import answers

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine.loop.local_engine import LocalEngine

ONE = SamplingParams(temperature=0, max_tokens=3, ignore_eos=True)


def run(engine: LocalEngine, prompt: list[int], params: SamplingParams = ONE) -> list[Delta]:
    return runs.run(engine, prompt, params)


def cached(deltas: list[Delta]) -> list[int | None]:
    return [delta.cached_tokens for delta in deltas]


class TestPrefixCache:
    """Which prefixes are recorded and found."""

    def test_the_longest_common_prefix_is_found(self) -> None:
        prefix_cache = PrefixCache()
        prefix_cache.insert(0, [1] * 20)
        prefix_cache.insert(1, [1] * 30)
        prefix_cache.insert(2, [2] * 90)
        assert prefix_cache.find_longest([1] * 25 + [3]) == (1, 25)
        assert prefix_cache.find_longest([1] * 18 + [3]) == (0, 18)
        assert prefix_cache.find_longest([3] * 40) == (-1, 0)

    def test_the_last_token_is_always_computed(self) -> None:
        prefix_cache = PrefixCache()
        prefix_cache.insert(0, [1] * 20)
        assert prefix_cache.find_longest([1] * 20) == (0, 19)
        assert prefix_cache.find_longest([1] * 21) == (0, 20)

    def test_a_short_prefix_is_not_reused(self) -> None:
        prefix_cache = PrefixCache()
        prefix_cache.insert(0, [1] * 20)
        assert prefix_cache.find_longest([1] * 15 + [2] * 9) == (-1, 0)
        assert prefix_cache.find_longest([1] * 16 + [2] * 9) == (0, 16)

    def test_prefixes_with_another_salt_are_not_found(self) -> None:
        prefix_cache = PrefixCache()
        prefix_cache.insert(0, [1] * 20, "ann")
        prefix_cache.insert(1, [1] * 30)
        expected = [("ann", (0, 20)), ("bob", (-1, 0)), (None, (1, 30))]
        assert expected == [(salt, prefix_cache.find_longest([1] * 40, salt)) for salt, _ in expected]

    def test_invalidated_and_replaced_rows_are_not_found(self) -> None:
        prefix_cache = PrefixCache()
        prefix_cache.insert(0, [1] * 20)
        prefix_cache.invalidate(0)
        prefix_cache.invalidate(0)
        prefix_cache.insert(1, [1] * 20)
        prefix_cache.insert(1, [2] * 20)
        assert prefix_cache.find_longest([1] * 30) == (-1, 0)

    def test_an_evicted_prefix_moves_to_the_least_recently_used_row(self) -> None:
        prefix_cache = PrefixCache()
        for slot in (3, 1, 2):
            prefix_cache.insert(slot, [slot] * 20)
        assert prefix_cache.evict(3, [1, 2]) is None
        prefix_cache.touch(3)
        assert prefix_cache.evict(3, [1, 2]) == (1, 20)
        assert prefix_cache.find_longest([3] * 30) == (1, 20)
        assert prefix_cache.find_longest([1] * 30) == (-1, 0)
        assert prefix_cache.evict(1, [2, 7, 5]) == (5, 20)
        assert prefix_cache.evict(6, [2]) is None
        assert prefix_cache.evict(2, []) is None


class TestScheduler:
    """Which rows are copied."""

    def _finish(self, scheduler: Scheduler, *prompts: list[int]) -> None:
        for prompt in prompts:
            scheduler.add(Sequence(prompt, SamplingParams(), Cancellation()))
        while batch := scheduler.schedule():
            if not batch.prefill:
                for sequence in batch.sequences:
                    scheduler.finish(sequence)

    def _copies(self, scheduler: Scheduler, prompt: list[int]) -> tuple[tuple[int, ...], tuple[RowCopy, ...]]:
        scheduler.add(Sequence(prompt, SamplingParams(), Cancellation()))
        batch = scheduler.schedule()
        assert batch is not None
        for sequence in batch.sequences:
            scheduler.finish(sequence)
        scheduler.schedule()
        return batch.starts, batch.copies

    def test_a_conversation_continues_in_its_own_row_without_a_copy(self) -> None:
        scheduler = Scheduler(4)
        self._finish(scheduler, [1] * 20)
        assert self._copies(scheduler, [1] * 20 + [2] * 20) == ((20,), ())

    def test_alternating_conversations_both_keep_their_prefixes(self) -> None:
        scheduler = Scheduler(4)
        self._finish(scheduler, [1] * 20)
        assert self._copies(scheduler, [2] * 30) == ((0,), (RowCopy(0, 1, 20),))
        assert self._copies(scheduler, [1] * 20 + [3] * 9) == ((20,), (RowCopy(0, 2, 30), RowCopy(1, 0, 20)))
        assert self._copies(scheduler, [2] * 30 + [3] * 9) == ((30,), (RowCopy(0, 3, 29), RowCopy(2, 0, 30)))

    def test_a_row_in_use_is_copied(self) -> None:
        scheduler = Scheduler(2)
        scheduler.add(Sequence([1] * 20, SamplingParams(), Cancellation()))
        scheduler.schedule()
        scheduler.schedule()
        scheduler.add(Sequence([1] * 40, SamplingParams(), Cancellation()))
        batch = scheduler.schedule()
        assert batch is not None
        assert (batch.starts, batch.ends, batch.copies) == ((20,), (40,), (RowCopy(0, 1, 20),))

    def test_prompts_of_one_batch_do_not_reuse_each_other(self) -> None:
        scheduler = Scheduler(4)
        for _ in range(3):
            scheduler.add(Sequence([1] * 20, SamplingParams(), Cancellation()))
        batch = scheduler.schedule()
        assert batch is not None
        assert (batch.starts, batch.copies) == ((0, 0, 0), ())

    def test_the_computed_part_of_a_cancelled_prompt_is_reused(self) -> None:
        scheduler = Scheduler(1, 32)
        first = Sequence([1] * 100, SamplingParams(), Cancellation())
        scheduler.add(first)
        scheduler.schedule()
        first.cancellation.requested = True
        scheduler.drop_cancelled()
        scheduler.add(Sequence([1] * 60, SamplingParams(), Cancellation()))
        batch = scheduler.schedule()
        assert batch is not None
        assert (batch.starts, batch.ends) == ((32,), (60,))

    def test_an_invalidated_row_is_not_reused(self) -> None:
        scheduler = Scheduler(1)
        first = Sequence([1] * 20, SamplingParams(), Cancellation())
        scheduler.add(first)
        scheduler.schedule()
        scheduler.invalidate(first)
        scheduler.finish(first)
        scheduler.schedule()
        assert self._copies(scheduler, [1] * 40) == ((0,), ())

    def test_nothing_is_reused_when_reuse_is_off(self) -> None:
        scheduler = Scheduler(2, reuse=False)
        self._finish(scheduler, [1] * 20)
        assert self._copies(scheduler, [1] * 40) == ((0,), ())


class TestEngine:
    """Reused tokens in deltas, and the answers."""

    def test_the_first_delta_counts_the_reused_prefix(self, engine: LocalEngine) -> None:
        prefix = list(range(40))
        assert cached(run(engine, prefix)) == [0, 0, 0]
        assert cached(run(engine, [*prefix, 7, 8, 9])) == [40, 0, 0]
        assert cached(run(engine, prefix)) == [39, 0, 0]
        assert cached(run(engine, [9, *prefix])) == [0, 0, 0]

    def test_no_prefix_is_counted_when_reuse_is_off(self, load_engine: Callable[..., LocalEngine]) -> None:
        engine = load_engine(prefix_reuse=False)
        assert [cached(run(engine, list(range(40)))) for _ in range(2)] == [[0, 0, 0]] * 2

    @pytest.mark.parametrize("kind", [{"n": 3}, {"n": 2, "best_of": 3}, {"n": 2, "beam_search": True}], ids=str)
    @pytest.mark.parametrize("slots", [3, 4])
    def test_every_choice_counts_the_same_prefix(
        self, load_engine: Callable[..., LocalEngine], kind: dict[str, Any], slots: int
    ) -> None:
        engine = load_engine(slots=slots)
        params = SamplingParams(seed=1, max_tokens=2, ignore_eos=True, **kind)
        prompt = list(range(50))
        for expected in (0, 49):
            actual = [(delta.index, delta.cached_tokens) for delta in run(engine, prompt, params)]
            assert sorted(actual) == sorted((index, count) for index in range(params.n) for count in (expected, 0))

    def test_choices_that_waited_for_a_slot_do_not_count_a_prefix_of_their_own_request(
        self, load_engine: Callable[..., LocalEngine]
    ) -> None:
        engine = load_engine(slots=1)
        deltas = run(engine, list(range(50)), SamplingParams(seed=1, n=3, max_tokens=2, ignore_eos=True))
        assert cached(deltas) == [0] * 6

    @pytest.mark.takes_turns
    @pytest.mark.parametrize("slots", [4, 7])
    @pytest.mark.parametrize("chunk", [32, 4096])
    def test_reuse_changes_no_answer(self, load_engine: Callable[..., LocalEngine], slots: int, chunk: int) -> None:
        asked = conversations(load_engine().vocabulary_size, seed=slots * chunk)
        engine = load_engine(slots=slots, prefill_tokens=chunk)
        expected = answers(load_engine(slots=slots, prefill_tokens=4096, prefix_reuse=False), asked)
        assert expected == answers(engine, asked)
        assert expected == answers(engine, asked)  # now every prefix is cached
        assert expected[:5] == [answers(engine, [request])[0] for request in asked[:5]]

    def test_cached_tokens_do_not_reveal_prompts_with_another_salt(
        self, load_engine: Callable[..., LocalEngine]
    ) -> None:
        engine = load_engine(slots=8)
        salts = ["ann", "ann", "bob", None, None]
        counts = [cached(run(engine, [7] * 30, replace(ONE, cache_salt=salt)))[0] for salt in salts]
        assert counts == [0, 29, 0, 0, 29]


def conversations(vocabulary: int, seed: int) -> list[tuple[list[int], SamplingParams]]:
    """Return requests of a few conversations with two system prompts, in every way of generating."""
    generator = random.Random(seed)

    def tokens(count: int) -> list[int]:
        return [generator.randrange(vocabulary) for _ in range(count)]

    kinds: list[dict[str, Any]] = [
        {"temperature": 0},
        {"logprobs": 2},
        {"n": 3},
        {"n": 2, "best_of": 4, "frequency_penalty": 0.5},
        {"beam_search": True, "n": 2, "best_of": 3, "repetition_penalty": 1.3},
    ]
    systems = [tokens(generator.randrange(10, 150)) for _ in range(2)]
    turns = [list(systems[number % 2]) for number in range(6)]
    asked: list[tuple[list[int], SamplingParams]] = []
    for at in range(30):
        turn = turns[generator.randrange(len(turns))]
        if len(turn) < 400:
            turn += tokens(generator.randrange(1, 70))
        asked.append((list(turn), SamplingParams(seed=at, max_tokens=8, ignore_eos=True, **kinds[at % 5])))
    return asked
