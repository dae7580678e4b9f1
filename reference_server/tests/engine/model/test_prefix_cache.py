"""The head that a prompt has in common with an earlier one is taken over, counted, and changes no answer."""

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


class TestPrefixes:
    """What is noted of the rows."""

    def test_the_longest_common_head_is_found(self) -> None:
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

    def test_a_short_head_is_not_worth_it(self) -> None:
        prefix_cache = PrefixCache()
        prefix_cache.insert(0, [1] * 20)
        assert prefix_cache.find_longest([1] * 15 + [2] * 9) == (-1, 0)
        assert prefix_cache.find_longest([1] * 16 + [2] * 9) == (0, 16)

    def test_what_was_computed_under_another_salt_is_not_found(self) -> None:
        prefix_cache = PrefixCache()
        prefix_cache.insert(0, [1] * 20, "ann")
        prefix_cache.insert(1, [1] * 30)
        expected = [("ann", (0, 20)), ("bob", (-1, 0)), (None, (1, 30))]
        assert expected == [(salt, prefix_cache.find_longest([1] * 40, salt)) for salt, _ in expected]

    def test_what_is_forgotten_or_replaced_is_not_found(self) -> None:
        prefix_cache = PrefixCache()
        prefix_cache.insert(0, [1] * 20)
        prefix_cache.invalidate(0)
        prefix_cache.invalidate(0)
        prefix_cache.insert(1, [1] * 20)
        prefix_cache.insert(1, [2] * 20)
        assert prefix_cache.find_longest([1] * 30) == (-1, 0)

    def test_a_row_is_rescued_to_the_place_of_least_use(self) -> None:
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


class TestSchedule:
    """Which rows take over what."""

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

    def test_a_conversation_goes_on_in_its_own_row_without_a_copy(self) -> None:
        scheduler = Scheduler(4)
        self._finish(scheduler, [1] * 20)
        assert self._copies(scheduler, [1] * 20 + [2] * 20) == ((20,), ())

    def test_conversations_that_alternate_both_keep_their_heads(self) -> None:
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

    def test_prompts_of_one_batch_take_nothing_from_each_other(self) -> None:
        scheduler = Scheduler(4)
        for _ in range(3):
            scheduler.add(Sequence([1] * 20, SamplingParams(), Cancellation()))
        batch = scheduler.schedule()
        assert batch is not None
        assert (batch.starts, batch.copies) == ((0, 0, 0), ())

    def test_what_a_prompt_given_up_has_computed_is_of_use(self) -> None:
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

    def test_a_row_that_went_wrong_is_forgotten(self) -> None:
        scheduler = Scheduler(1)
        first = Sequence([1] * 20, SamplingParams(), Cancellation())
        scheduler.add(first)
        scheduler.schedule()
        scheduler.invalidate(first)
        scheduler.finish(first)
        scheduler.schedule()
        assert self._copies(scheduler, [1] * 40) == ((0,), ())

    def test_without_reuse_nothing_is_taken_over(self) -> None:
        scheduler = Scheduler(2, reuse=False)
        self._finish(scheduler, [1] * 20)
        assert self._copies(scheduler, [1] * 40) == ((0,), ())


class TestEngine:
    """What a request is told, and what it gets."""

    def test_a_repeated_head_is_counted_on_the_first_delta(self, engine: LocalEngine) -> None:
        head = list(range(40))
        assert cached(run(engine, head)) == [0, 0, 0]
        assert cached(run(engine, [*head, 7, 8, 9])) == [40, 0, 0]
        assert cached(run(engine, head)) == [39, 0, 0]
        assert cached(run(engine, [9, *head])) == [0, 0, 0]

    def test_no_head_is_counted_when_reuse_is_off(self, load_engine: Callable[..., LocalEngine]) -> None:
        engine = load_engine(prefix_reuse=False)
        assert [cached(run(engine, list(range(40)))) for _ in range(2)] == [[0, 0, 0]] * 2

    @pytest.mark.parametrize("kind", [{"n": 3}, {"n": 2, "best_of": 3}, {"n": 2, "beam_search": True}], ids=str)
    @pytest.mark.parametrize("slots", [3, 4])
    def test_every_choice_counts_the_same_head(
        self, load_engine: Callable[..., LocalEngine], kind: dict[str, Any], slots: int
    ) -> None:
        engine = load_engine(slots=slots)
        params = SamplingParams(seed=1, max_tokens=2, ignore_eos=True, **kind)
        prompt = list(range(50))
        for expected in (0, 49):
            found = [(each.index, each.cached_tokens) for each in run(engine, prompt, params)]
            assert sorted(found) == sorted((index, count) for index in range(params.n) for count in (expected, 0))

    def test_siblings_that_wait_for_a_slot_count_no_head_of_their_own(
        self, load_engine: Callable[..., LocalEngine]
    ) -> None:
        engine = load_engine(slots=1)
        deltas = run(engine, list(range(50)), SamplingParams(seed=1, n=3, max_tokens=2, ignore_eos=True))
        assert cached(deltas) == [0] * 6

    @pytest.mark.parametrize("slots", [4, 7])
    @pytest.mark.parametrize("chunk", [32, 4096])
    def test_reuse_changes_no_answer(self, load_engine: Callable[..., LocalEngine], slots: int, chunk: int) -> None:
        asked = conversations(load_engine().vocabulary_size, seed=slots * chunk)
        engine = load_engine(slots=slots, prefill_tokens=chunk)
        expected = answers(load_engine(slots=slots, prefill_tokens=4096, prefix_reuse=False), asked)
        assert expected == answers(engine, asked)
        assert expected == answers(engine, asked)  # all of it was there before
        assert expected[:5] == [answers(engine, [each])[0] for each in asked[:5]]

    def test_nobody_learns_what_was_asked_under_another_salt(self, load_engine: Callable[..., LocalEngine]) -> None:
        engine = load_engine(slots=8)
        salts = ["ann", "ann", "bob", None, None]
        told = [cached(run(engine, [7] * 30, replace(ONE, cache_salt=salt)))[0] for salt in salts]
        assert told == [0, 29, 0, 0, 29]


def conversations(vocabulary: int, seed: int) -> list[tuple[list[int], SamplingParams]]:
    """Turns of a few conversations over two system prompts, asked for in every way."""
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
    turns = [list(systems[each % 2]) for each in range(6)]
    asked: list[tuple[list[int], SamplingParams]] = []
    for at in range(30):
        turn = turns[generator.randrange(len(turns))]
        if len(turn) < 400:
            turn += tokens(generator.randrange(1, 70))
        asked.append((list(turn), SamplingParams(seed=at, max_tokens=8, ignore_eos=True, **kinds[at % 5])))
    return asked
