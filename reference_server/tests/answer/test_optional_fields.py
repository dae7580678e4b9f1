"""render: what an answer tells of itself on request."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from openapi.contract.contract import load
from openapi.description.validation import Validator
from reference_server.answer.chunks import ChunkWriter
from reference_server.answer.completion import completion
from reference_server.engine import Prompt, RankedLogprob, SamplingParams
from reference_server.http.served_contract import served
from reference_server.request.response_options import DISGUISE, Telling
from reference_server.tests.rendering import TEXTS, content, heading, stream_of
from reference_server.tests.scripted_engine import deltas

TOLD = Prompt((5, 6), "<s>Hello", (None, (RankedLogprob(6, "Hello", -0.5, 2), RankedLogprob(9, "Bye", -0.25, 1))))


def told(dialect: str, telling: Telling, params: SamplingParams | None = None) -> tuple[Any, list[dict[str, Any]]]:
    """The answer and the stream of the same deltas; the first one holds the prompt, the last one a stop text."""
    first, *others = deltas(TEXTS)
    said = [replace(first, prompt=TOLD), *others[:-1], replace(others[-1], stop_reason="the end")]
    answer = completion(load(dialect), heading(dialect), 54, said, telling)
    return answer, stream_of(dialect, said, params, telling=telling)


def test_what_is_told_on_request_fits_the_description() -> None:
    every = Telling(usage=True, every_usage=True, token_ids=True, prompt_text=True, weight_versions=True)
    validator = Validator(served(load("vllm"), bearer=False))
    answer, stream = told("vllm", every)
    assert validator.problems("ChatCompletion", answer) == ()
    assert [validator.problems("ChatCompletionChunk", chunk) for chunk in stream] == [()] * len(stream)


def test_tokens_and_the_prompt_are_told_once_each() -> None:
    answer, stream = told("vllm", Telling(token_ids=True, prompt_text=True))
    assert ([5, 6], "<s>Hello") == (answer["prompt_token_ids"], answer["prompt_text"])
    assert {"6": {"logprob": -0.5, "rank": 2, "decoded_token": "Hello"}} == {
        key: value for key, value in answer["prompt_logprobs"][1].items() if key == "6"
    }
    assert answer["choices"][0]["token_ids"] == [7, 8, 9, 10, 11]
    assert [[5, 6]] == [chunk["prompt_token_ids"] for chunk in stream if "prompt_token_ids" in chunk]
    assert [7, 8, 9, 10, 11] == [token for chunk in stream for token in chunk["choices"][0]["token_ids"]]
    assert not any("prompt_logprobs" in chunk for chunk in stream)


def test_the_end_is_told_with_the_finish_reason() -> None:
    answer, stream = told("vllm", Telling(weight_versions=True))
    assert answer["choices"][0]["stop_reason"] == "the end"
    assert [None] * (len(stream) - 1) + ["the end"] == [chunk["choices"][0].get("stop_reason") for chunk in stream]
    span = [{"version": "tiny", "start": 0, "end": 5}]
    assert answer["choices"][0]["weight_versions"] == span == stream[-1]["choices"][0]["weight_versions"]
    assert "stop_reason" not in told("openai", Telling())[0]["choices"][0]


@pytest.mark.parametrize("interval", [1, 2, 3, 4, 100])
def test_so_many_tokens_stand_in_a_chunk_at_least_and_nothing_is_lost(interval: int) -> None:
    _, stream = told("vllm", Telling(interval=interval, token_ids=True), SamplingParams())
    counts = [len(chunk["choices"][0]["token_ids"]) for chunk in stream[1:]]
    assert sum(counts) == 5
    assert all(count >= interval for count in counts[:-2] if count)
    assert "".join(TEXTS) == "".join(map(content, stream))
    assert stream[-1]["choices"][0]["finish_reason"] == "stop"


def test_usage_so_far_stands_in_every_chunk() -> None:
    _, stream = told("vllm", Telling(usage=True, every_usage=True))
    counts = [chunk["usage"]["completion_tokens"] for chunk in stream]
    assert [0, 1, 2, 3, 4, 5, 5] == counts
    assert {54} == {chunk["usage"]["prompt_tokens"] for chunk in stream}
    assert all(chunk["usage"]["total_tokens"] == 54 + chunk["usage"]["completion_tokens"] for chunk in stream)


def test_obfuscated_chunks_of_short_texts_have_one_size() -> None:
    _, stream = told("openai", Telling(obfuscation=True))
    sizes = {len(json.dumps(content(chunk))) + len(chunk["obfuscation"]) for chunk in stream}
    assert sizes == {DISGUISE}


def test_a_tier_is_told_in_every_part() -> None:
    head = replace(heading("openai"), tier="flex")
    answer = completion(load("openai"), head, 9, deltas(TEXTS))
    assert answer["service_tier"] == "flex"
    writer = ChunkWriter(
        load("openai"), head, SimpleNamespace(prompt_tokens=9), SamplingParams(), full_text=False, telling=Telling()
    )
    assert [chunk["service_tier"] for chunk in writer.opening()] == ["flex"]


def test_an_echo_stands_once_before_every_choice() -> None:
    answer, stream = told("vllm", Telling(echo="Once "))
    assert answer["choices"][0]["message"]["content"] == "Once The end."
    assert "".join(map(content, stream)) == "Once The end."
    assert content(stream[0]) == "Once "
