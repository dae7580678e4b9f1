"""LocalEngine: what comes out is what the model says, for every way a request can end."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine import Delta, EngineError, PromptTooLong, SamplingParams
from reference_server.engine.device import torch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reference_server.engine.local import LocalEngine

GREEDY = SamplingParams(temperature=0, max_tokens=40, ignore_eos=True)
ENDLESS = SamplingParams(temperature=0, ignore_eos=True)


async def collect(engine: LocalEngine, prompt: list[int], params: SamplingParams) -> list[Delta]:
    return [delta async for delta in engine.submit(prompt, params)]


def run(engine: LocalEngine, prompt: list[int], params: SamplingParams) -> list[Delta]:
    return asyncio.run(collect(engine, prompt, params))


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


@pytest.fixture
def scripted(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> Callable[[str | list[int]], LocalEngine]:
    """The engine, made to generate the tokens of a text, or given tokens, whatever the model says."""

    def script(wanted: str | list[int]) -> LocalEngine:
        ids = engine._checkpoint.tokenizer.encode(wanted).ids if isinstance(wanted, str) else wanted
        tokens = itertools.chain(ids, itertools.repeat(0))
        monkeypatch.setattr(engine._sampler, "sample", lambda *_: [next(tokens)])
        return engine

    return script


def _id(engine: LocalEngine, token: str) -> int:
    token_id = engine._checkpoint.tokenizer.token_to_id(token)
    assert token_id is not None
    return int(token_id)


def test_greedy_tokens_are_those_of_transformers(random_checkpoint: Path, engine: LocalEngine) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(random_checkpoint, dtype="float32")
    for text in ("hello", "你好，世界", "The quick brown fox jumps over the lazy dog. " * 5):
        prompt = engine.encode_chat([{"role": "user", "content": text}])
        with torch.inference_mode():
            output = model.generate(
                torch.tensor([prompt]), do_sample=False, max_new_tokens=40, eos_token_id=None, pad_token_id=0
            )
        deltas = run(engine, prompt, GREEDY)
        expected = output[0, len(prompt) :].tolist()
        assert expected == [delta.token_id for delta in deltas]
        whole = engine._checkpoint.tokenizer.decode(expected, skip_special_tokens=True)
        assert whole.rstrip("\ufffd") == text_of(deltas).rstrip("\ufffd")


class TestEndings:
    """Each finish reason, and what stays in the text."""

    def test_max_tokens(self, engine: LocalEngine) -> None:
        deltas = run(engine, [1, 2, 3], dataclasses.replace(GREEDY, max_tokens=7))
        assert [delta.finish_reason for delta in deltas] == [None] * 6 + ["length"]

    def test_the_servers_cap(self, load_engine: Callable[..., LocalEngine]) -> None:
        engine = load_engine(max_new_tokens=5)
        for params in (ENDLESS, GREEDY):
            assert [delta.finish_reason for delta in run(engine, [1, 2], params)] == [None] * 4 + ["length"]

    def test_the_models_positions(self, load_engine: Callable[..., LocalEngine]) -> None:
        engine = load_engine(max_model_len=32)
        assert (engine.max_model_len, engine.max_new_tokens) == (32, 31)
        for prompt_tokens in (1, 30, 31):
            deltas = run(engine, [5] * prompt_tokens, ENDLESS)
            assert len(deltas) == 32 - prompt_tokens
            assert deltas[-1].finish_reason == "length"

    def test_a_stop_token(self, engine: LocalEngine) -> None:
        free = run(engine, [1, 2, 3], GREEDY)
        stop = free[20].token_id
        first = [delta.token_id for delta in free].index(stop)
        params = dataclasses.replace(GREEDY, stop_token_ids=frozenset({stop, -1, 10**12}))
        deltas = run(engine, [1, 2, 3], params)
        assert [delta.token_id for delta in free[: first + 1]] == [delta.token_id for delta in deltas]
        assert [None] * first + ["stop"] == [delta.finish_reason for delta in deltas]
        assert deltas[-1].text == ""

    @pytest.mark.parametrize("skip", [True, False])
    def test_the_end_of_sequence_token(self, scripted: Callable[..., LocalEngine], skip: bool) -> None:
        engine = scripted("one<|im_end|>two")
        deltas = run(engine, [1], SamplingParams(skip_special_tokens=skip))
        assert (text_of(deltas), deltas[-1].finish_reason) == ("one", "stop")
        assert deltas[-1].token_id == _id(engine, "<|im_end|>")

    @pytest.mark.parametrize(("skip", "expected"), [(True, "onetwo"), (False, "one<|im_end|>two")])
    def test_the_end_of_sequence_token_ignored(
        self, scripted: Callable[..., LocalEngine], skip: bool, expected: str
    ) -> None:
        engine = scripted("one<|im_end|>two")
        count = len(engine._checkpoint.tokenizer.encode("one<|im_end|>two").ids)
        params = SamplingParams(max_tokens=count, ignore_eos=True, skip_special_tokens=skip)
        deltas = run(engine, [1], params)
        assert (text_of(deltas), deltas[-1].finish_reason) == (expected, "length")

    @pytest.mark.parametrize("include", [True, False])
    def test_a_stop_text(self, scripted: Callable[..., LocalEngine], include: bool) -> None:
        engine = scripted("say 你好。 more text")
        params = SamplingParams(stop=("never", "好。 m"), include_stop_str_in_output=include)
        deltas = run(engine, [1], params)
        assert (text_of(deltas), deltas[-1].finish_reason) == ("say 你好。 m" if include else "say 你", "stop")

    def test_an_end_on_the_last_allowed_token_is_a_stop(self, scripted: Callable[..., LocalEngine]) -> None:
        engine = scripted([_id(engine := scripted("x"), "a"), _id(engine, "b"), _id(engine, "<|im_end|>")])
        deltas = run(engine, [1], SamplingParams(max_tokens=3))
        assert [delta.finish_reason for delta in deltas] == [None, None, "stop"]
        for params in (SamplingParams(max_tokens=2, stop=("b",)), SamplingParams(max_tokens=2, stop=("ab",))):
            assert run(scripted("ab"), [1], params)[-1].finish_reason == "stop"

    @pytest.mark.parametrize("ending", [{"max_tokens": 3}, {"stop_token_ids": frozenset({0})}])
    def test_text_held_for_a_stop_comes_out_at_the_end(
        self, scripted: Callable[..., LocalEngine], ending: dict[str, Any]
    ) -> None:
        engine = scripted([_id(engine := scripted("x"), token) for token in "abc"])
        deltas = run(engine, [1], SamplingParams(stop=("bcd",), **ending))
        assert text_of(deltas) == "abc"
        assert [delta.text for delta in deltas[:2]] + [""] == ["a", "", ""]

    def test_a_character_cut_by_the_cap_is_dropped(self, scripted: Callable[..., LocalEngine]) -> None:
        # "ð" and "Ł" stand for the first bytes of an emoji in the byte-level alphabet.
        engine = scripted([_id(engine := scripted("x"), token) for token in "aðŁ"])
        assert text_of(run(engine, [1], SamplingParams(max_tokens=3))) == "a"


@pytest.mark.parametrize("reasoning", [True, False])
def test_a_thought_that_the_template_opens_is_told_apart_when_asked_for(
    scripted: Callable[..., LocalEngine], reasoning: bool
) -> None:
    said = "two\n</think>\n\nfour"
    engine = scripted(said)
    prompt = engine.encode_chat([{"role": "user", "content": "hello"}], None, {"thinking": True})
    count = len(engine._checkpoint.tokenizer.encode(said).ids)
    deltas = run(engine, prompt, SamplingParams(max_tokens=count, reasoning=reasoning))
    thought = "".join(delta.reasoning for delta in deltas)
    assert (thought, text_of(deltas)) == (("two", "four") if reasoning else ("", said))


class TestRefusals:
    """What submit does not take."""

    def test_a_prompt_that_leaves_no_room(self, load_engine: Callable[..., LocalEngine]) -> None:
        engine = load_engine(max_model_len=32)
        with pytest.raises(PromptTooLong, match="32 tokens and at most 31 fit") as caught:
            run(engine, [1] * 32, GREEDY)
        assert (caught.value.prompt_tokens, caught.value.limit) == (32, 31)

    @pytest.mark.parametrize("prompt", [[], [-1], [10**9]])
    def test_a_prompt_that_is_none(self, engine: LocalEngine, prompt: list[int]) -> None:
        with pytest.raises(ValueError, match="the prompt"):
            run(engine, prompt, GREEDY)

    def test_arguments_out_of_range(self, load_engine: Callable[..., LocalEngine]) -> None:
        for wrong in ({"slots": 0}, {"max_model_len": 513}, {"max_model_len": 1}, {"max_new_tokens": 0}):
            with pytest.raises(ValueError, match=next(iter(wrong))):
                load_engine(**wrong)


def test_64_requests_on_4_slots_all_finish_and_are_admitted_in_order(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    admitted: list[list[int]] = []
    sizes: list[int] = []
    prefill, decode = engine._runner.prefill, engine._runner.decode

    def recorded_prefill(pieces: list[list[int]], slots: list[int], starts: list[int]) -> torch.Tensor:
        admitted.extend(pieces)
        sizes.append(len(slots))
        return prefill(pieces, slots, starts)

    def recorded_decode(tokens: list[int], positions: list[int], slots: list[int]) -> torch.Tensor:
        sizes.append(len(slots))
        return decode(tokens, positions, slots)

    monkeypatch.setattr(engine._runner, "prefill", recorded_prefill)
    monkeypatch.setattr(engine._runner, "decode", recorded_decode)
    prompts = [[number, number // 8, 3] for number in range(64)]

    async def together() -> list[list[Delta]]:
        requests = [
            collect(engine, prompt, dataclasses.replace(GREEDY, max_tokens=1 + 5 * number % 13))
            for number, prompt in enumerate(prompts)
        ]
        return await asyncio.gather(*requests)

    requests = asyncio.run(together())
    assert [1 + 5 * number % 13 for number in range(64)] == [len(deltas) for deltas in requests]
    assert prompts == admitted
    batch_sizes = sorted(delta.batch_size for deltas in requests for delta in deltas if delta.batch_size)
    assert sorted(size for size in sizes for _ in range(size)) == batch_sizes
    assert max(sizes) == 4


def test_times_are_measured_from_when_a_token_could_be_scheduled(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count()
    monkeypatch.setattr("reference_server.engine.local.time.perf_counter", lambda: float(next(clock)))
    deltas = run(engine, [1, 2, 3], dataclasses.replace(GREEDY, max_tokens=3))
    # Read at submission (0), then at the start and the end of each of three steps.
    assert [(delta.queue_wait_s, delta.step_s) for delta in deltas] == [(1.0, 1.0)] * 3


def test_a_step_reaches_the_loop_in_one_call(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, calls = itertools.count(), itertools.count()
    step = engine._step
    monkeypatch.setattr(engine, "_step", lambda batch: (next(steps), step(batch))[1])

    async def together() -> None:
        loop = asyncio.get_running_loop()
        call = loop.call_soon_threadsafe

        def counted(callback: Any, *arguments: Any, **options: Any) -> Any:
            if threading.current_thread().name == "engine":
                next(calls)
            return call(callback, *arguments, **options)

        monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
        await asyncio.gather(*(collect(engine, [number], GREEDY) for number in range(6)))

    asyncio.run(together())
    assert next(steps) == next(calls)


def test_two_loops_share_an_engine(engine: LocalEngine) -> None:
    expected = run(engine, [1, 2, 3], GREEDY)
    results: list[list[Delta]] = []
    threads = [threading.Thread(target=lambda: results.append(run(engine, [1, 2, 3], GREEDY))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tokens = [delta.token_id for delta in expected]
    assert [tokens] * 3 == [[delta.token_id for delta in deltas] for deltas in results]


class TestCancel:
    """A cancelled generation ends at once and frees its slot within one step."""

    def test_the_slot_is_free_within_one_step(
        self, load_engine: Callable[..., LocalEngine], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine = load_engine(slots=1)
        cancelled = threading.Event()
        steps_after = itertools.count()
        decode = engine._runner.decode

        def recorded(tokens: list[int], positions: list[int], slots: list[int]) -> torch.Tensor:
            if cancelled.is_set():
                next(steps_after)
            return decode(tokens, positions, slots)

        monkeypatch.setattr(engine._runner, "decode", recorded)

        async def scenario() -> None:
            generation = engine.submit([1, 2], ENDLESS)
            await anext(generation)
            generation.cancel()
            cancelled.set()
            assert [delta async for delta in generation] == []
            second = await collect(engine, [3, 4], dataclasses.replace(GREEDY, max_tokens=1))
            assert len(second) == 1

        asyncio.run(scenario())
        assert next(steps_after) <= 1
        assert engine._generations == {}
        assert engine._scheduler.free_slots == 1

    def test_a_waiting_request_is_never_run(
        self, load_engine: Callable[..., LocalEngine], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine = load_engine(slots=1)
        admitted: list[list[int]] = []
        prefill = engine._runner.prefill

        def recorded(pieces: list[list[int]], slots: list[int], starts: list[int]) -> torch.Tensor:
            admitted.extend(pieces)
            return prefill(pieces, slots, starts)

        monkeypatch.setattr(engine._runner, "prefill", recorded)

        async def scenario() -> None:
            first = asyncio.create_task(collect(engine, [1], GREEDY))
            await asyncio.sleep(0)
            waiting = engine.submit([2], GREEDY)
            waiting.cancel()
            waiting.cancel()
            await collect(engine, [3], GREEDY)
            await first

        asyncio.run(scenario())
        assert admitted == [[1], [3]]

    def test_a_reader_that_waits_is_woken(self, engine: LocalEngine) -> None:
        async def scenario() -> list[Delta]:
            generation = engine.submit([1, 2], ENDLESS)

            async def read() -> list[Delta]:
                return [delta async for delta in generation]

            reader = asyncio.create_task(read())
            await asyncio.sleep(0)
            generation.cancel()
            return await reader

        assert asyncio.run(scenario()) == []

    def test_after_the_end_it_changes_nothing(self, engine: LocalEngine) -> None:
        async def scenario() -> list[Delta]:
            generation = engine.submit([1, 2], GREEDY)
            deltas = [delta async for delta in generation]
            generation.cancel()
            assert [delta async for delta in generation] == []
            return deltas

        assert len(asyncio.run(scenario())) == 40
        assert engine.alive

    def test_a_loop_that_went_away_frees_its_slots(self, load_engine: Callable[..., LocalEngine]) -> None:
        engine = load_engine(slots=2)

        async def abandon() -> None:
            for _ in range(5):
                engine.submit([1, 2], ENDLESS)

        asyncio.run(abandon())
        assert len(run(engine, [1, 2], GREEDY)) == 40


class TestDeath:
    """An engine that cannot go on says so to everybody, at once."""

    def test_every_generation_fails_and_nothing_more_is_taken(
        self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def broken(*_: Any) -> torch.Tensor:
            raise RuntimeError("device lost")

        monkeypatch.setattr(engine._runner, "decode", broken)

        async def scenario() -> list[list[Delta] | BaseException]:
            requests = [collect(engine, [number], GREEDY) for number in range(10)]
            return await asyncio.gather(*requests, return_exceptions=True)

        outcomes = asyncio.run(scenario())
        assert [str(outcome) for outcome in outcomes] == ["the engine died: RuntimeError: device lost"] * 10
        assert all(isinstance(outcome, EngineError) for outcome in outcomes)  # some were asked for too late
        assert not engine.alive
        with pytest.raises(EngineError, match="device lost"):
            run(engine, [1], GREEDY)
        assert "device lost" in caplog.text

    def test_a_request_that_arrives_while_it_dies_fails_too(
        self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stepping, arrived = threading.Event(), threading.Event()

        def broken(*_: Any) -> torch.Tensor:
            stepping.set()
            arrived.wait()
            raise RuntimeError("device lost")

        monkeypatch.setattr(engine._runner, "decode", broken)

        async def scenario() -> None:
            first = engine.submit([1], GREEDY)
            await anext(first)
            await asyncio.to_thread(stepping.wait)
            second = engine.submit([2], GREEDY)
            arrived.set()
            for generation in (first, second):
                with pytest.raises(EngineError, match="device lost"):
                    await asyncio.wait_for(anext(generation), 60)

        asyncio.run(scenario())

    def test_logits_that_are_no_numbers_end_one_request_and_not_the_engine(
        self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        decode = engine._runner.decode

        def overflowing(tokens: list[int], positions: list[int], slots: list[int]) -> torch.Tensor:
            logits = decode(tokens, positions, slots)
            logits[[position == 10 for position in positions]] = torch.nan
            return logits

        monkeypatch.setattr(engine._runner, "decode", overflowing)

        async def scenario() -> list[list[Delta] | BaseException]:
            short, long = ([number] * length for number, length in ((1, 3), (2, 30)))
            requests = [collect(engine, prompt, GREEDY) for prompt in (short, long)]
            return await asyncio.gather(*requests, return_exceptions=True)

        failed, finished = asyncio.run(scenario())
        assert isinstance(failed, EngineError)
        assert isinstance(finished, list)
        assert len(finished) == 40
        assert engine.alive

    def test_close_fails_what_is_in_flight(self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        decode = engine._runner.decode

        def patient(tokens: list[int], positions: list[int], slots: list[int]) -> torch.Tensor:
            while engine.alive:
                time.sleep(0.001)  # so that the generation cannot end before the engine is closed
            return decode(tokens, positions, slots)

        monkeypatch.setattr(engine._runner, "decode", patient)

        async def scenario() -> None:
            generation = engine.submit([1], GREEDY)
            await anext(generation)
            engine.close()
            engine.close()
            with pytest.raises(EngineError, match="closed"):
                [delta async for delta in generation]
            with pytest.raises(StopAsyncIteration):
                await anext(generation)

        asyncio.run(scenario())
        assert not engine.alive
        with pytest.raises(EngineError, match="closed"):
            run(engine, [1], GREEDY)
