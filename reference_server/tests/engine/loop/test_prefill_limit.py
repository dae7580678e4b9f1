"""PrefillLimit: the time of a pass with prompt tokens stays below twice that of a step."""

from __future__ import annotations

import pytest

from reference_server.engine.loop.prefill_limit import GROWTH, LEAST_TOKENS, PrefillLimit
from reference_server.engine.loop.scheduler import Batch, Scheduler
from reference_server.engine.loop.sequence import Cancellation, Sequence
from reference_server.engine.params import SamplingParams


@pytest.mark.parametrize("token_s", [0.0005, 0.001, 0.002])
@pytest.mark.parametrize("step_s", [0.02, 0.1, 0.4])
def test_a_pass_takes_at_most_twice_the_time_of_a_step_after_a_few_passes(step_s: float, token_s: float) -> None:
    limit = PrefillLimit(256)
    limit.record(256 * token_s * 1.5, prompt_tokens=256, others=0)
    for _ in range(10):
        limit.record(step_s, prompt_tokens=0, others=0)
    seconds = []
    for _ in range(20):
        tokens = limit.count_tokens(running=3, prompts=1)
        seconds.append(step_s + tokens * token_s)
        limit.record(seconds[-1], prompt_tokens=tokens, others=3)
    fewest = step_s + LEAST_TOKENS * token_s
    assert max(seconds) <= max(2 * step_s, fewest)
    assert seconds[-1] >= min(1.6 * step_s, step_s + 256 * token_s)


def test_one_slow_step_on_a_busy_machine_does_not_make_the_next_prompt_block() -> None:
    limit = PrefillLimit(256)
    for _ in range(10):
        limit.record(0.1, prompt_tokens=0, others=0)
    limit.record(5.0, prompt_tokens=0, others=0)
    before = limit.count_tokens(running=3, prompts=1)
    limit.record(0.1, prompt_tokens=before, others=3)  # as if its tokens cost nothing
    assert limit.count_tokens(running=3, prompts=1) <= GROWTH * max(before, LEAST_TOKENS)


def test_without_other_sequences_the_limit_is_the_configured_one() -> None:
    limit = PrefillLimit(256)
    limit.record(10.0, prompt_tokens=256, others=0)
    assert limit.count_tokens(running=0, prompts=1) == 256


def test_each_waiting_prompt_adds_to_the_limit() -> None:
    limit = PrefillLimit(1000)
    limit.record(0.1, prompt_tokens=0, others=0)
    limit.record(0.12, prompt_tokens=20, others=1)
    one, seven = (limit.count_tokens(running=2, prompts=count) for count in (1, 7))
    assert seven == 7 * one


def test_a_mixing_scheduler_decodes_the_running_sequences_in_every_prefill() -> None:
    scheduler = Scheduler(3, 34, reuse=False, mixes=True)
    first, second = (Sequence([1] * count, SamplingParams(), Cancellation()) for count in (4, 40))
    scheduler.add(first)
    assert scheduler.schedule() == Batch(True, (first,), (0,), (4,))
    scheduler.add(second)
    assert scheduler.schedule() == Batch(True, (second,), (0,), (32,), decoding=(first,))
    assert scheduler.schedule() == Batch(True, (second,), (32,), (40,), decoding=(first,))
    assert scheduler.schedule() == Batch(False, (first, second))
