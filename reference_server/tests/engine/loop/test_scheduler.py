"""Scheduler: first come, first served, on a fixed number of slots."""

from __future__ import annotations

import pytest

from reference_server.engine.loop.scheduler import Batch, Scheduler
from reference_server.engine.loop.sequence import Cancellation, Sequence, SequenceStatus
from reference_server.engine.params import SamplingParams


def _sequence(prompt_tokens: int = 3, prompt: list[int] | None = None) -> Sequence:
    return Sequence(prompt or [1] * prompt_tokens, SamplingParams(), Cancellation())


def _prefill(sequences: tuple[Sequence, ...]) -> Batch:
    """Return the batch that prefills whole prompts."""
    return Batch(True, sequences, (0,) * len(sequences), tuple(len(sequence.prompt) for sequence in sequences))


def _cancel(*sequences: Sequence) -> None:
    for sequence in sequences:
        sequence.cancellation.requested = True


def _filled(slots: int, *prompt_tokens: int, most: int = 10_000) -> tuple[Scheduler, list[Sequence]]:
    scheduler = Scheduler(slots, prefill_tokens=most, reuse=False)
    sequences = [_sequence(count) for count in prompt_tokens]
    for sequence in sequences:
        scheduler.add(sequence)
    return scheduler, sequences


def test_sequences_are_admitted_in_order_of_arrival() -> None:
    scheduler, sequences = _filled(4, *[3] * 64)
    admitted: list[Sequence] = []
    while batch := scheduler.schedule():
        if batch.prefill:
            admitted += batch.sequences
        else:
            scheduler.finish(batch.sequences[len(admitted) % len(batch.sequences)])
    assert sequences == admitted
    assert {SequenceStatus.FINISHED} == {sequence.status for sequence in sequences}
    assert scheduler.free_slots == 4


def test_no_slot_is_assigned_twice() -> None:
    scheduler, _ = _filled(3, *[3] * 10)
    while batch := scheduler.schedule():
        slots = [sequence.slot for sequence in batch.sequences]
        assert len(slots) == len(set(slots))
        assert set(slots) <= {0, 1, 2}
        if not batch.prefill:
            scheduler.finish(batch.sequences[-1])


def test_prefill_and_decode_alternate_while_there_is_work_for_both() -> None:
    scheduler, (first, second, third) = _filled(3, 8, 8, 8, most=8)
    expected = [
        _prefill((first,)),
        Batch(False, (first,)),
        _prefill((second,)),
        Batch(False, (first, second)),
        _prefill((third,)),
        Batch(False, (first, second, third)),
        Batch(False, (first, second, third)),
    ]
    assert expected == [scheduler.schedule() for _ in expected]


def test_a_prefill_counts_padding_and_takes_the_prompts_that_fit() -> None:
    scheduler, short = _filled(8, 4, 4, 10, 10, 10, most=30)
    assert scheduler.schedule() == _prefill(tuple(short[:3]))
    for sequence in short[:3]:
        scheduler.finish(sequence)
    assert scheduler.schedule() == _prefill(tuple(short[3:]))


def test_a_long_prompt_is_prefilled_in_chunks_between_the_steps_of_others() -> None:
    scheduler, (running, long, last) = _filled(3, 4, 75, 20, most=30)
    assert scheduler.schedule() == _prefill((running,))
    expected = [
        Batch(False, (running,)),
        Batch(True, (long,), (0,), (30,)),
        Batch(False, (running,)),
        Batch(True, (long,), (30,), (60,)),
        Batch(False, (running,)),
        Batch(True, (long,), (60,), (75,)),
        Batch(False, (running, long)),
        _prefill((last,)),
        Batch(False, (running, long, last)),
    ]
    assert expected == [scheduler.schedule() for _ in expected]


def test_other_prompts_join_the_last_chunk_of_a_prompt() -> None:
    scheduler, (long, short) = _filled(2, 40, 12, most=30)
    assert scheduler.schedule() == Batch(True, (long,), (0,), (30,))
    assert scheduler.schedule() == Batch(True, (long, short), (30, 0), (40, 12))


def test_sequences_that_share_a_long_prompt_are_prefilled_together() -> None:
    scheduler = Scheduler(4, 30)
    prompt = [1] * 40
    first, second, third = (_sequence(prompt=prompt) for _ in range(3))
    scheduler.add(first)
    scheduler.add(second)
    assert scheduler.schedule() == Batch(True, (first, second), (0, 0), (30, 30))
    scheduler.add(third)
    assert scheduler.schedule() == Batch(True, (first, second, third), (30, 30, 30), (40, 40, 40))


def test_a_prompt_is_cancelled_between_two_chunks() -> None:
    scheduler, (long, next_one) = _filled(1, 75, 4, most=30)
    assert scheduler.schedule() == Batch(True, (long,), (0,), (30,))
    _cancel(long)
    assert scheduler.drop_cancelled() == [long]
    assert long.status is SequenceStatus.FINISHED
    assert scheduler.schedule() == _prefill((next_one,))
    assert scheduler.free_slots == 0


def test_a_prompt_that_sequences_share_is_counted_once() -> None:
    scheduler = Scheduler(8, prefill_tokens=20)
    shared, equal = [1] * 9, [1] * 9
    sequences = [_sequence(prompt=prompt) for prompt in (shared, shared, shared, equal, equal, [1] * 9)]
    for sequence in sequences:
        scheduler.add(sequence)
    assert scheduler.schedule() == _prefill(tuple(sequences[:5]))


def test_cancelled_sequences_are_dropped_whether_running_or_waiting() -> None:
    scheduler, (running, other, waiting, last) = _filled(2, 3, 3, 3, 3)
    assert scheduler.schedule() == _prefill((running, other))
    _cancel(running, waiting)
    assert scheduler.drop_cancelled() == [running, waiting]
    assert scheduler.drop_cancelled() == []
    assert scheduler.free_slots == 1
    assert scheduler.schedule() == Batch(False, (other,))
    assert scheduler.schedule() == _prefill((last,))
    assert [sequence.status for sequence in (running, waiting)] == [SequenceStatus.FINISHED] * 2


def test_sequences_that_start_together_wait_for_enough_slots_and_block_later_ones() -> None:
    scheduler, (first, second) = _filled(4, 3, 3)
    prompt = [1, 2]
    beams = [_sequence(prompt=prompt) for _ in range(3)]
    last = _sequence()
    scheduler.add(*beams)
    scheduler.add(last)
    assert scheduler.schedule() == _prefill((first, second))
    assert scheduler.schedule() == Batch(False, (first, second))
    assert scheduler.schedule() == Batch(False, (first, second))
    scheduler.finish(first)
    assert scheduler.schedule() == _prefill(tuple(beams))
    assert scheduler.schedule() == Batch(False, (second, *beams))
    scheduler.finish(second)
    assert scheduler.schedule() == _prefill((last,))
    assert scheduler.free_slots == 0


def test_sequences_of_a_cancelled_request_are_dropped_together() -> None:
    scheduler = Scheduler(3)
    shared = Cancellation()
    beams = [Sequence([1], SamplingParams(), shared) for _ in range(6)]
    other = _sequence()
    scheduler.add(*beams[:3])
    scheduler.add(*beams[3:])
    scheduler.add(other)
    assert scheduler.schedule() == _prefill(tuple(beams[:3]))
    shared.requested = True
    assert scheduler.drop_cancelled() == beams
    assert scheduler.schedule() == _prefill((other,))


def test_nothing_is_scheduled_without_sequences() -> None:
    scheduler, (only,) = _filled(1, 3)
    scheduler.schedule()
    scheduler.finish(only)
    assert scheduler.schedule() is None
    assert not scheduler.busy
    with pytest.raises(ValueError, match="not running"):
        scheduler.finish(only)
