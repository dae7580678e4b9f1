"""Beam search in an engine, compared with transformers and with the reference, alone and with other requests."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import threading
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine import Delta, EngineError, SamplingParams
from reference_server.engine.device import torch
from reference_server.engine.loop import output_worker
from reference_server.engine.loop.beam_search import BeamSearch
from reference_server.engine.loop.generation import deliver_all
from reference_server.engine.text.transcript import Transcript
from reference_server.tests.engine.loop.naive_beam_search import Tokens, reference

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reference_server.engine.loop.local_engine import LocalEngine

PROMPT = list(range(5, 40))
BEAMS = SamplingParams(beam_search=True, n=3, max_tokens=15, ignore_eos=True)


async def collect(engine: LocalEngine, params: SamplingParams, prompt: list[int] = PROMPT) -> list[Delta]:
    return [delta async for delta in engine.submit(prompt, params)]


def run(engine: LocalEngine, params: SamplingParams, prompt: list[int] = PROMPT) -> list[Delta]:
    return asyncio.run(collect(engine, params, prompt))


def by_choice(deltas: list[Delta]) -> list[list[int]]:
    """Return the tokens of choice 0, 1, ..., which arrive one choice after the other."""
    choices = [
        (index, [delta.token_id for delta in group]) for index, group in groupby(deltas, lambda delta: delta.index)
    ]
    assert [index for index, _ in choices] == list(range(len(choices)))
    return [tokens for _, tokens in choices]


class TestEngine:
    """Beam search in an engine that also runs other requests."""

    @pytest.mark.takes_turns
    @pytest.mark.parametrize("width", [1, 2, 4, 7])
    @pytest.mark.parametrize(
        ("length_penalty", "ends"), [(1.0, []), (1.0, [3, 14]), (0.0, [8]), (-2.0, [3]), (2.0, [3, 99])]
    )
    def test_answers_are_those_of_transformers(
        self,
        load_engine: Callable[..., LocalEngine],
        random_checkpoint: Path,
        width: int,
        length_penalty: float,
        ends: list[int],
    ) -> None:
        engine = load_engine(slots=8)
        model = engine._checkpoint.model
        for length, max_tokens in ((1, 1), (9, 12), (70, 30)):
            prompt = [(7 * at + width) % engine.vocabulary_size for at in range(length)]
            with torch.inference_mode():
                output = model.generate(
                    torch.tensor([prompt]),
                    attention_mask=torch.ones(1, length),
                    do_sample=False,
                    num_beams=width,
                    num_return_sequences=width,
                    length_penalty=length_penalty,
                    max_new_tokens=max_tokens,
                    eos_token_id=ends or None,
                    pad_token_id=1,
                )
            params = SamplingParams(
                beam_search=True,
                n=width,
                length_penalty=length_penalty,
                max_tokens=max_tokens,
                stop_token_ids=frozenset(ends),
                ignore_eos=True,
            )
            answers = by_choice(run(engine, params, prompt))
            for answer, row in zip(answers, output[:, length:].tolist(), strict=True):
                assert answer == row[: len(answer)]
                assert set(row[len(answer) :]) <= {1}
                assert len(answer) == max_tokens or answer[-1] in ends

    @pytest.mark.parametrize(
        "changes",
        [
            {"beam_groups": 2, "diversity_penalty": 0.8, "n": 4},
            {"best_of": 4, "frequency_penalty": 0.9, "presence_penalty": 0.3, "repetition_penalty": 1.4},
            {"n": 4, "best_of": 6, "beam_groups": 3, "diversity_penalty": 0.5, "repetition_penalty": 0.7},
        ],
        ids=str,
    )
    def test_diversity_and_penalties_agree_with_the_reference(
        self, load_engine: Callable[..., LocalEngine], changes: dict[str, Any]
    ) -> None:
        engine = load_engine(slots=6)
        params = dataclasses.replace(BEAMS, max_tokens=9, stop_token_ids=frozenset({3, 14, 200}), **changes)

        @cache
        def logprobs(tokens: Tokens) -> list[float]:
            with torch.inference_mode():
                logits = engine._checkpoint.model(input_ids=torch.tensor([[*PROMPT, *tokens]])).logits[0, -1].double()
            logits = logits.clone()  # inference tensors cannot be modified
            for token in {*PROMPT, *tokens}:
                factor = params.repetition_penalty
                logits[token] = logits[token] / factor if logits[token] > 0 else logits[token] * factor
            for token in set(tokens):
                logits[token] -= params.presence_penalty + params.frequency_penalty * tokens.count(token)
            return logits.log_softmax(-1).tolist()  # type: ignore[no-any-return]

        expected = reference(logprobs, params, limit=9, ends=lambda tokens: tokens[-1] in params.stop_token_ids)
        assert expected == list(map(tuple, by_choice(run(engine, params))))

    @pytest.mark.parametrize("include", [True, False])
    def test_a_stop_string_ends_a_beam(self, load_engine: Callable[..., LocalEngine], include: bool) -> None:
        engine = load_engine(slots=4)
        tokenizer = engine._checkpoint.tokenizer
        free = run(engine, dataclasses.replace(BEAMS, n=4))
        # A stop string in the middle of the best answer, across two tokens.
        whole = tokenizer.decode([delta.token_id for delta in free if delta.index == 0])
        stop = next(whole[at : at + 2] for at in range(3, len(whole)) if "\ufffd" not in whole[at : at + 2])

        @cache
        def logprobs(tokens: Tokens) -> list[float]:
            with torch.inference_mode():
                logits = engine._checkpoint.model(input_ids=torch.tensor([[*PROMPT, *tokens]])).logits[0, -1]
            return logits.double().log_softmax(-1).tolist()  # type: ignore[no-any-return]

        params = dataclasses.replace(
            BEAMS, n=4, stop=("never", stop), include_stop_str_in_output=include, length_penalty=-2.0
        )
        expected = reference(logprobs, params, limit=15, ends=lambda tokens: stop in tokenizer.decode(list(tokens)))
        deltas = run(engine, params)
        assert expected == list(map(tuple, by_choice(deltas)))
        assert any(delta.finish_reason == "stop" for delta in deltas)
        for index in range(4):
            answer = [delta for delta in deltas if delta.index == index]
            text = "".join(delta.text for delta in answer)
            assert text.count(stop) == (include and answer[-1].finish_reason == "stop")

    def test_logprobs_are_the_models_own(self, load_engine: Callable[..., LocalEngine]) -> None:
        engine = load_engine(slots=4)
        plain = dataclasses.replace(BEAMS, frequency_penalty=0.8, stop_token_ids=frozenset({14}))
        deltas = run(engine, dataclasses.replace(plain, logprobs=3))
        assert by_choice(run(engine, plain)) == by_choice(deltas)
        for index in range(3):
            answer = [delta for delta in deltas if delta.index == index]
            ids = [*PROMPT, *(delta.token_id for delta in answer)]
            with torch.inference_mode():
                logits = engine._checkpoint.model(input_ids=torch.tensor([ids])).logits[0, len(PROMPT) - 1 : -1]
            own = logits.double().log_softmax(-1)
            for delta, row in zip(answer, own, strict=True):
                assert delta.logprob is not None
                assert pytest.approx(float(row[delta.token_id]), abs=1e-4) == delta.logprob.logprob
                tops = [top.logprob for top in delta.logprob.top]
                assert pytest.approx(row.topk(3).values.tolist(), abs=1e-4) == tops

    def test_answers_are_the_same_alone_and_among_other_requests(self, load_engine: Callable[..., LocalEngine]) -> None:
        engine = load_engine(slots=7)
        requests = [
            dataclasses.replace(BEAMS, n=3),
            SamplingParams(seed=3, max_tokens=9, ignore_eos=True, n=3),
            dataclasses.replace(BEAMS, n=2, best_of=5, logprobs=1, frequency_penalty=0.4),
            SamplingParams(temperature=0, max_tokens=20, ignore_eos=True),
            dataclasses.replace(BEAMS, n=4, beam_groups=2, diversity_penalty=1.0, max_tokens=4),
        ]
        prompts = [[at, 3, 5] * (at + 1) for at in range(len(requests))]

        def content(deltas: list[Delta]) -> set[Any]:
            return {(delta.index, at, delta.token_id, delta.logprob) for at, delta in enumerate(_in_order(deltas))}

        alone = [content(run(engine, params, prompt)) for params, prompt in zip(requests, prompts, strict=True)]

        async def together() -> list[list[Delta]]:
            return await asyncio.gather(*map(collect, [engine] * len(requests), requests, prompts))

        assert alone == [content(deltas) for deltas in asyncio.run(together())]

    def test_nothing_is_delivered_before_the_end(self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        sizes: list[int] = []

        def recorded(items: list[Any]) -> None:
            sizes.append(len(items))
            deliver_all(items)

        monkeypatch.setattr(output_worker, "deliver_all", recorded)
        deltas = run(engine, dataclasses.replace(BEAMS, n=2, best_of=4))
        assert [30] == sizes
        assert [delta.finish_reason for delta in deltas] == ([None] * 14 + ["length"]) * 2
        assert {delta.batch_size for delta in deltas} == {4}

    def test_times_are_measured_per_step(self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = itertools.count()
        monkeypatch.setattr("reference_server.engine.loop.local_engine.time.perf_counter", lambda: float(next(clock)))
        deltas = run(engine, dataclasses.replace(BEAMS, n=2, max_tokens=3))
        # The clock is read at submission (0), then at the start and the end of each of three steps.
        assert [(delta.queue_wait_s, delta.step_s) for delta in deltas] == [(1.0, 1.0)] * 6

    def test_one_prefill_serves_all_beams(self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        prefill = engine._runner.prefill
        passes: list[int] = []

        def recorded(prompts: list[list[int]], slots: list[int], starts: list[int]) -> torch.Tensor:
            passes.append(len(prompts))
            return prefill(prompts, slots, starts)

        monkeypatch.setattr(engine._runner, "prefill", recorded)
        run(engine, BEAMS)
        assert passes == [1]

    def test_a_search_wider_than_the_engine_is_refused(self, engine: LocalEngine) -> None:
        with pytest.raises(ValueError, match="5 beams needs 5 slots, and the engine has 4"):
            run(engine, dataclasses.replace(BEAMS, best_of=5))
        assert len(run(engine, dataclasses.replace(BEAMS, n=4))) == 60

    def test_cancel_frees_every_slot(self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        started = threading.Event()
        decode = engine._runner.decode

        def recorded(*arguments: Any) -> torch.Tensor:
            started.set()
            return decode(*arguments)

        monkeypatch.setattr(engine._runner, "decode", recorded)

        async def scenario() -> None:
            running, waiting = (engine.submit(PROMPT, dataclasses.replace(BEAMS, max_tokens=None)) for _ in range(2))
            await asyncio.to_thread(started.wait)
            running.cancel()
            waiting.cancel()
            assert [delta async for delta in running] == []
            assert len(await collect(engine, BEAMS)) == 45

        asyncio.run(scenario())
        assert (engine._driver.generations, engine._driver.scheduler.free_slots) == ({}, 4)

    @pytest.mark.parametrize("source", ["logits", "search", "text"])
    def test_an_error_ends_one_search_and_no_other_request(
        self, load_engine: Callable[..., LocalEngine], monkeypatch: pytest.MonkeyPatch, source: str
    ) -> None:
        engine = load_engine(slots=8)
        greedy = SamplingParams(temperature=0, max_tokens=30, ignore_eos=True)
        expected = [by_choice(run(engine, BEAMS)), by_choice(run(engine, greedy))]
        decode, advance, text = engine._runner.decode, BeamSearch.advance, Transcript.create_delta

        def broken_logits(tokens: list[int], positions: list[int], slots: list[int]) -> torch.Tensor:
            logits = decode(tokens, positions, slots)
            logits[[position == 99 for position in positions]] = torch.nan
            return logits

        def broken_advance(self: BeamSearch, *arguments: torch.Tensor) -> Any:
            if source == "search" and self.params.n == 4:
                raise ArithmeticError("lost")
            return advance(self, *arguments)

        def broken_text(self: Transcript, *arguments: Any, **options: Any) -> Delta:
            if source == "text" and self._index == 3:
                raise ArithmeticError("lost")
            return text(self, *arguments, **options)

        monkeypatch.setattr(engine._runner, "decode", broken_logits)
        monkeypatch.setattr(BeamSearch, "advance", broken_advance)
        monkeypatch.setattr(Transcript, "create_delta", broken_text)

        async def scenario() -> Any:
            poisoned = dataclasses.replace(BEAMS, n=4, max_tokens=20)
            prompt = [9] * (95 if source == "logits" else 3)
            return await asyncio.gather(
                collect(engine, poisoned, prompt),
                collect(engine, BEAMS),
                collect(engine, greedy),
                return_exceptions=True,
            )

        failed, *others = asyncio.run(scenario())
        assert isinstance(failed, EngineError)
        assert expected == [by_choice(other) for other in others if isinstance(other, list)]
        assert (engine._driver.generations, engine._driver.scheduler.free_slots, engine.alive) == ({}, 8, True)


def _in_order(deltas: list[Delta]) -> list[Delta]:
    return sorted(deltas, key=lambda delta: delta.index)
