"""Request options besides sampling: prompt echo, truncation, priority, stop reasons and the reasoning budget."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine import Delta, SamplingParams
from reference_server.engine.device import torch
from reference_server.engine.loop.scheduler import Scheduler
from reference_server.engine.loop.sequence import Cancellation, Sequence
from reference_server.engine.repetition import Repetition
from reference_server.tests.runs import collect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reference_server.engine.loop.local_engine import LocalEngine

PROMPT = list(range(5, 40))
SEARCH = {"beam_search": True, "n": 2}
WAYS: list[dict[str, Any]] = [{}, {"beam_search": True}, SEARCH, {"n": 2, "best_of": 3, "seed": 1}]


def run(engine: LocalEngine, prompt: list[int] = PROMPT, **asked: Any) -> list[Delta]:
    async def collect() -> list[Delta]:
        params = SamplingParams(**{"temperature": 0, "max_tokens": 12, "ignore_eos": True, **asked})
        return [delta async for delta in engine.submit(prompt, params)]

    return asyncio.run(collect())


def ids(deltas: list[Delta]) -> list[int]:
    return [delta.token_id for delta in deltas]


def test_a_repetition_ends_the_answer_with_its_finish_reason(engine: LocalEngine) -> None:
    only: dict[str, Any] = {"logit_bias": ((42, 100.0),), "max_tokens": 20}
    for beams in WAYS[:2]:
        deltas = run(engine, repetition=Repetition(8, 1, 3), **only, **beams)
        assert ([42] * 3, "repetition") == (ids(deltas), deltas[-1].finish_reason)
    assert len(run(engine, repetition=Repetition(8, 1, 3), min_tokens=7, **only)) == 8
    assert len(run(engine, repetition=Repetition(8, 2, 3), **only)) == 6


def test_the_stop_reason_is_the_matched_stop_of_the_request(engine: LocalEngine) -> None:
    free = run(engine)
    token = free[4].token_id
    at = ids(free).index(token)
    assert token == run(engine, stop_token_ids=frozenset({token}))[-1].stop_reason
    assert at + 1 == len(run(engine, stop_token_ids=frozenset({token})))
    text = "".join(delta.text for delta in free)
    stop = text[3:5]
    assert stop == run(engine, stop=("never", stop))[-1].stop_reason
    assert free[-1].stop_reason is None


def test_requested_tokens_are_listed_after_the_most_likely(engine: LocalEngine) -> None:
    for beams in WAYS[::2]:
        for delta in run(engine, logprobs=3, logprob_token_ids=(40, 41, 40), **beams):
            assert delta.logprob is not None
            values = [top.logprob for top in delta.logprob.top]
            texts = [top.text for top in delta.logprob.top]
            assert 3 <= len(values) <= 5
            assert {"I", "J"} <= set(texts)
            assert values[:3] == sorted(values, reverse=True)[:3]
            assert delta.logprob.logprob <= 0
    with pytest.raises(ValueError, match="logprob_token_ids contains token 100000"):
        run(engine, logprobs=0, logprob_token_ids=(100_000,))


@pytest.mark.parametrize("top", [0, 4])
def test_logprobs_of_the_prompt_are_those_of_the_model(engine: LocalEngine, top: int) -> None:
    prompt = [*PROMPT, *PROMPT[:7]] * 9  # more than one block of positions
    first, *others = run(engine, prompt, prompt_logprobs=top)
    assert first.prompt is not None
    assert all(delta.prompt is None for delta in others)
    assert tuple(prompt) == first.prompt.token_ids
    assert first.prompt.text == engine._checkpoint.tokenizer.decode(prompt, skip_special_tokens=False)
    with torch.inference_mode():
        logits = engine._checkpoint.model(torch.tensor([prompt])).logits[0].double()
    expected = logits.log_softmax(-1)
    returned = first.prompt.logprobs
    assert returned is not None
    assert (None, len(prompt)) == (returned[0], len(returned))
    for at, entries in enumerate(returned[1:], start=1):
        assert entries is not None
        row = expected[at - 1]
        assert prompt[at] == entries[0].token_id
        assert [pytest.approx(float(row[entry.token_id]), abs=1e-4) for entry in entries] == [
            entry.logprob for entry in entries
        ]
        ranks = {entry.token_id: entry.rank for entry in entries}
        assert len(ranks) == len(entries)
        assert set(range(1, top + 1)) <= set(ranks.values())
        best = torch.topk(row, top).indices.tolist()
        assert {rank: ranks[token] for rank, token in enumerate(best, start=1)} == {r: r for r in range(1, top + 1)}
        assert ranks[prompt[at]] == pytest.approx(int((row > row[prompt[at]]).sum()) + 1, abs=1)


def test_a_prompt_is_returned_once_and_on_request_only(engine: LocalEngine) -> None:
    for asked in WAYS:
        returned = [delta.prompt for delta in run(engine, returns_prompt=True, **asked)]
        assert returned[0] is not None
        assert (tuple(PROMPT), None) == (returned[0].token_ids, returned[0].logprobs)
        assert not any(returned[1:])
        assert not any(delta.prompt for delta in run(engine, **asked))


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ({"truncate_prompt_tokens": 10}, PROMPT[-10:]),
        ({"truncate_prompt_tokens": 10, "keeps_beginning": True}, PROMPT[:10]),
        ({"truncate_prompt_tokens": 35}, PROMPT),
        ({"truncate_prompt_tokens": 2**63 - 1}, PROMPT),
        ({"truncate_prompt_tokens": -1}, PROMPT),
    ],
)
def test_a_prompt_is_truncated_to_the_requested_length(
    engine: LocalEngine, asked: dict[str, Any], kept: list[int]
) -> None:
    assert ids(run(engine, kept)) == ids(run(engine, PROMPT, **asked))


def test_a_prompt_that_is_too_long_can_be_truncated_to_the_maximum(engine: LocalEngine) -> None:
    prompt = [5 + at % 200 for at in range(engine.max_model_len + 50)]
    first = run(engine, prompt, truncate_prompt_tokens=-1, returns_prompt=True)[0]
    assert first.prompt is not None
    assert tuple(prompt[-engine.max_model_len + 1 :]) == first.prompt.token_ids


@pytest.mark.parametrize("wrong", [{"truncate_prompt_tokens": 0}, {"thinking_budget": -1}, {"prompt_logprobs": 21}])
def test_errors_name_values_out_of_range(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=rf"^(invalid )?{next(iter(wrong))}\b"):
        SamplingParams(**wrong)


def test_waiting_requests_run_by_priority_and_then_by_arrival() -> None:
    scheduler = Scheduler(1)
    order = [3, -2, 0, 3, 0, -2, 7, -9]
    sequences = [Sequence([5], SamplingParams(priority=priority), Cancellation()) for priority in order]
    for sequence in sequences:
        scheduler.add(sequence)
    served: list[Sequence] = []
    while batch := scheduler.schedule():
        served += batch.sequences
        for sequence in batch.sequences:
            scheduler.finish(sequence)
    assert sorted(sequences, key=lambda sequence: sequence.params.priority) == served


@pytest.mark.parametrize("budget", [0, 1, 5])
@pytest.mark.parametrize("opened", [True, False])
def test_reasoning_is_closed_when_its_budget_is_used_up(engine: LocalEngine, budget: int, opened: bool) -> None:
    opening, closing = (engine._vocabulary.encode(marker)[0] for marker in ("<think>", "</think>"))
    prompt = [*PROMPT, opening] if opened else PROMPT
    bias = ((opening, 100.0),) if not opened else ((42, 100.0),)
    returned = ids(
        run(engine, prompt, thinking_budget=budget, reasoning=True, logit_bias=bias, bad_words=("</think>",))
    )
    begin = 0 if opened else 1
    assert [begin + budget] == [at for at, token in enumerate(returned) if token == closing]
    assert closing not in ids(run(engine, prompt, thinking_budget=budget, logit_bias=bias, bad_words=("</think>",)))


def test_other_requests_get_tokens_while_a_long_prompt_is_scored(
    load_engine: Callable[..., LocalEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = load_engine(slots=2)
    events: list[str] = []
    prompt_logits, decode = engine._runner.prompt_logits, engine._runner.decode

    def record_parts(prompt: list[int]) -> Iterator[torch.Tensor]:
        for logits in prompt_logits(prompt):
            events.append("part")
            yield logits

    def record_step(*arguments: Any) -> torch.Tensor:
        events.append("step")
        return decode(*arguments)

    monkeypatch.setattr(engine._runner, "prompt_logits", record_parts)
    monkeypatch.setattr(engine._runner, "decode", record_step)

    async def both() -> None:
        running = asyncio.create_task(collect(engine, [5, 6], SamplingParams(max_tokens=300, ignore_eos=True)))
        await asyncio.sleep(0.05)
        prompt = [token % 100 for token in range(200)]
        await collect(engine, prompt, SamplingParams(max_tokens=1, prompt_logprobs=1))
        await running

    asyncio.run(both())
    first, last = events.index("part"), len(events) - events[::-1].index("part")
    assert events[first:last].count("part") == 7
    assert events[first:last].count("step") >= 6
