"""Log-probabilities in deltas: the model's own, with the bytes of the tokens."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine import Delta, SamplingParams, TokenLogprob
from reference_server.engine.device import torch

if TYPE_CHECKING:
    from pathlib import Path

    from reference_server.engine.loop.local_engine import LocalEngine

PROMPT = list(range(5, 45))
GREEDY = SamplingParams(temperature=0, max_tokens=40, ignore_eos=True, logprobs=5)


def run(engine: LocalEngine, params: SamplingParams, prompt: list[int] = PROMPT) -> list[Delta]:
    async def collect() -> list[Delta]:
        return [delta async for delta in engine.submit(prompt, params)]

    return asyncio.run(collect())


def logprobs(deltas: list[Delta]) -> list[TokenLogprob]:
    actual = [delta.logprob for delta in deltas]
    assert None not in actual
    return [logprob for logprob in actual if logprob is not None]


@pytest.fixture
def scripted(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> LocalEngine:
    """Make the engine generate ids 0, 1, 2, ..."""
    ids = itertools.count()
    monkeypatch.setattr(engine._driver.sampler, "finish", lambda *_: [next(ids)])
    return engine


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"temperature": 1.5, "seed": 3},
        {"temperature": 0.7, "seed": 4, "top_k": 3, "top_p": 0.5},
        {"frequency_penalty": 1.5, "presence_penalty": -0.5, "repetition_penalty": 1.8},
    ],
    ids=str,
)
def test_logprobs_are_those_of_the_model_for_all_parameters(
    engine: LocalEngine, random_checkpoint: Path, changes: dict[str, Any]
) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(random_checkpoint, dtype="float32").eval()
    deltas = run(engine, dataclasses.replace(GREEDY, **changes))
    tokens = [delta.token_id for delta in deltas]
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([PROMPT + tokens])).logits[0, len(PROMPT) - 1 : -1]
    own = logits.double().log_softmax(-1)
    expected = own[torch.arange(len(tokens)), torch.tensor(tokens)]
    actual = logprobs(deltas)
    assert pytest.approx(expected.tolist(), abs=1e-4) == [logprob.logprob for logprob in actual]
    best = own.topk(5).values.flatten().tolist()
    assert pytest.approx(best, abs=1e-4) == [top.logprob for logprob in actual for top in logprob.top]


def test_a_greedy_token_is_the_first_alternative(engine: LocalEngine) -> None:
    for logprob in logprobs(run(engine, GREEDY)):
        likeliest = logprob.top[0]
        assert (likeliest.text, likeliest.data, likeliest.logprob, likeliest.top) == (
            logprob.text,
            logprob.data,
            logprob.logprob,
            (),
        )


@pytest.mark.parametrize("number", [0, 1, 20])
def test_the_number_of_alternatives_is_the_requested_number(engine: LocalEngine, number: int) -> None:
    params = dataclasses.replace(GREEDY, logprobs=number, max_tokens=3)
    assert [number] * 3 == [len(logprob.top) for logprob in logprobs(run(engine, params))]


def test_logprobs_are_returned_on_request_only_and_change_no_token(engine: LocalEngine) -> None:
    params = SamplingParams(seed=5, max_tokens=30, ignore_eos=True, frequency_penalty=0.5)
    plain, scored = run(engine, params), run(engine, dataclasses.replace(params, logprobs=2))
    assert {delta.logprob for delta in plain} == {None}
    assert [(delta.token_id, delta.text) for delta in plain] == [(delta.token_id, delta.text) for delta in scored]


@pytest.mark.takes_turns
@pytest.mark.parametrize("skip", [True, False])
def test_the_bytes_of_the_tokens_are_the_text(scripted: LocalEngine, skip: bool) -> None:
    size = scripted._checkpoint.tokenizer.get_vocab_size()
    params = SamplingParams(max_tokens=size, ignore_eos=True, skip_special_tokens=skip, logprobs=0)
    deltas = run(scripted, params, [1])
    joined = b"".join(logprob.data or b"" for logprob in logprobs(deltas))
    # Half of the bytes of the alphabet are not characters on their own.
    assert "".join(delta.text for delta in deltas) == joined.decode(errors="replace")
    hidden = {logprob.text for logprob in logprobs(deltas) if logprob.data is None}
    assert ({"<|endoftext|>", "<|im_start|>", "<|im_end|>"} if skip else set()) == hidden


def test_the_token_that_ends_an_answer_has_text_but_no_bytes(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = engine._checkpoint.tokenizer.token_to_id("<|im_end|>")
    monkeypatch.setattr(engine._driver.sampler, "finish", lambda *_: [end])
    last = logprobs(run(engine, SamplingParams(skip_special_tokens=False, logprobs=0)))[-1]
    assert (last.text, last.data) == ("<|im_end|>", None)


def test_a_part_of_a_character_has_its_byte_and_a_replacement_character(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # "ð", "Ł", "ĺ" and "Ģ" are the four bytes of an emoji in the byte-level alphabet.
    ids = [engine._checkpoint.tokenizer.token_to_id(token) for token in "ðŁĺĢ"]
    script = iter(ids)
    monkeypatch.setattr(engine._driver.sampler, "finish", lambda *_: [next(script)])
    deltas = run(engine, SamplingParams(max_tokens=4, logprobs=0))
    assert [logprob.data for logprob in logprobs(deltas)] == [b"\xf0", b"\x9f", b"\x98", b"\x80"]
    assert {logprob.text for logprob in logprobs(deltas)} == {"\ufffd"}
    assert [delta.text for delta in deltas] == ["", "", "", "😀"]


def test_logprobs_are_the_same_alone_and_among_others(engine: LocalEngine) -> None:
    prompts = [[number, 7, number] * (1 + number % 5) for number in range(10)]
    params = [SamplingParams(seed=number, max_tokens=12, logprobs=number % 4 or None) for number in range(10)]

    async def one(at: int) -> list[TokenLogprob | None]:
        return [delta.logprob async for delta in engine.submit(prompts[at], params[at])]

    async def together() -> list[list[TokenLogprob | None]]:
        return await asyncio.gather(*map(one, range(10)))

    assert asyncio.run(together()) == [asyncio.run(one(at)) for at in range(10)]


@pytest.mark.parametrize("wrong", [-1, 21])
def test_errors_name_a_number_out_of_range(wrong: int) -> None:
    with pytest.raises(ValueError, match=r"^invalid logprobs: "):
        SamplingParams(logprobs=wrong)
