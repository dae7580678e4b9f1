"""LocalGeneration and the delivery of deltas, without an engine."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tokenizers import Tokenizer, models

from reference_server.engine import Delta, EngineError, SamplingParams
from reference_server.engine.loop.generation import LocalGeneration, deliver_all
from reference_server.engine.loop.submission import Submission
from reference_server.engine.text.transcript import AnswerSpec
from reference_server.engine.vocabulary import Vocabulary

VOCABULARY = Vocabulary(Tokenizer(models.BPE()))
MIDDLE = Delta("a", 1, None, 1, 0.0, 0.0)
LAST = Delta("b", 2, "stop", 1, 0.0, 0.0)


def _generation(loop: asyncio.AbstractEventLoop, params: SamplingParams | None = None) -> LocalGeneration:
    spec = AnswerSpec(VOCABULARY, params or SamplingParams(), 10, frozenset())
    submission = Submission([1, 2, 3], spec, seed=0, ready_at=0.0)
    return LocalGeneration(submission, loop)


def test_it_ends_after_the_delta_with_a_finish_reason() -> None:
    async def scenario() -> None:
        generation = _generation(asyncio.get_running_loop())
        deliver_all([(generation, MIDDLE), (generation, LAST)])
        assert [delta async for delta in generation] == [MIDDLE, LAST]
        assert [delta async for delta in generation] == []
        assert generation.prompt_tokens == 3

    asyncio.run(scenario())


def test_it_ends_after_the_last_of_several_choices() -> None:
    async def scenario() -> None:
        generation = _generation(asyncio.get_running_loop(), SamplingParams(n=2))
        sent = [MIDDLE, replace(LAST, index=1), MIDDLE, LAST]
        deliver_all((generation, delta) for delta in [*sent, MIDDLE])
        assert [delta async for delta in generation] == sent

    asyncio.run(scenario())


def test_nothing_is_read_after_cancel_not_even_delivered_items() -> None:
    async def scenario() -> None:
        generation = _generation(asyncio.get_running_loop())
        generation.deliver(MIDDLE)
        generation.cancel()
        generation.deliver(LAST)
        assert [delta async for delta in generation] == []

    asyncio.run(scenario())


def test_cancel_precedes_items_that_a_waiting_reader_has_not_read() -> None:
    async def scenario() -> None:
        generation = _generation(asyncio.get_running_loop())

        async def read() -> list[Delta]:
            return [delta async for delta in generation]

        reader = asyncio.create_task(read())
        await asyncio.sleep(0)
        generation.deliver(MIDDLE)
        generation.cancel()
        assert await reader == []

    asyncio.run(scenario())


def test_an_error_is_raised_once_and_ends_it() -> None:
    async def scenario() -> None:
        generation = _generation(asyncio.get_running_loop())
        deliver_all([(generation, MIDDLE), (generation, EngineError("gone"))])
        assert await anext(generation) == MIDDLE
        with pytest.raises(EngineError, match="gone"):
            await anext(generation)
        assert [delta async for delta in generation] == []

    asyncio.run(scenario())


def test_a_closed_loop_cancels_its_sequences_and_no_others() -> None:
    closed = asyncio.new_event_loop()
    closed.close()

    async def scenario() -> None:
        orphan, other = _generation(closed), _generation(asyncio.get_running_loop())
        deliver_all([(orphan, MIDDLE), (other, LAST)])
        assert [generation.submission.cancellation.requested for generation in (orphan, other)] == [True, False]
        assert await anext(other) == LAST

    asyncio.run(scenario())
