"""Tests of the optional fields of responses and chunks."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from openapi.contract.contract import load
from openapi.description.validation import Validator
from reference_server.answer.chunks import ChunkWriter
from reference_server.answer.completion import build_completion
from reference_server.engine import Prompt, RankedLogprob, SamplingParams
from reference_server.http.served_contract import TEXT_ONLY, served_contract
from reference_server.request.response_options import OBFUSCATION_BLOCK, ResponseOptions
from reference_server.tests.rendering import TEXTS, content, metadata, render_stream
from reference_server.tests.scripted_engine import deltas

PROMPT = Prompt((5, 6), "<s>Hello", (None, (RankedLogprob(6, "Hello", -0.5, 2), RankedLogprob(9, "Bye", -0.25, 1))))


def render(
    dialect: str, options: ResponseOptions, params: SamplingParams | None = None
) -> tuple[Any, list[dict[str, Any]]]:
    """Return the response and the stream for the same deltas; the first has the prompt, the last a stop string."""
    first, *others = deltas(TEXTS)
    generated = [replace(first, prompt=PROMPT), *others[:-1], replace(others[-1], stop_reason="the end")]
    answer = build_completion(load(dialect), metadata(dialect), 54, generated, options)
    return answer, render_stream(dialect, generated, params, options=options)


def test_optional_fields_match_the_description() -> None:
    every = ResponseOptions(usage=True, continuous_usage=True, token_ids=True, prompt_text=True, weight_versions=True)
    validator = Validator(served_contract(load("vllm"), bearer=False, lacking=TEXT_ONLY))
    answer, stream = render("vllm", every)
    assert validator.problems("ChatCompletion", answer) == ()
    assert [validator.problems("ChatCompletionChunk", chunk) for chunk in stream] == [()] * len(stream)


def test_token_ids_and_the_prompt_are_reported_once_each() -> None:
    answer, stream = render("vllm", ResponseOptions(token_ids=True, prompt_text=True))
    assert ([5, 6], "<s>Hello") == (answer["prompt_token_ids"], answer["prompt_text"])
    assert {"6": {"logprob": -0.5, "rank": 2, "decoded_token": "Hello"}} == {
        key: value for key, value in answer["prompt_logprobs"][1].items() if key == "6"
    }
    assert answer["choices"][0]["token_ids"] == [7, 8, 9, 10, 11]
    assert [[5, 6]] == [chunk["prompt_token_ids"] for chunk in stream if "prompt_token_ids" in chunk]
    assert [7, 8, 9, 10, 11] == [token for chunk in stream for token in chunk["choices"][0]["token_ids"]]
    assert not any("prompt_logprobs" in chunk for chunk in stream)


def test_the_stop_reason_comes_with_the_finish_reason() -> None:
    answer, stream = render("vllm", ResponseOptions(weight_versions=True))
    assert answer["choices"][0]["stop_reason"] == "the end"
    assert [None] * (len(stream) - 1) + ["the end"] == [chunk["choices"][0].get("stop_reason") for chunk in stream]
    span = [{"version": "tiny", "start": 0, "end": 5}]
    assert answer["choices"][0]["weight_versions"] == span == stream[-1]["choices"][0]["weight_versions"]
    assert "stop_reason" not in render("openai", ResponseOptions())[0]["choices"][0]


@pytest.mark.parametrize("stream_interval", [1, 2, 3, 4, 100])
def test_chunks_have_at_least_stream_interval_tokens_and_nothing_is_lost(stream_interval: int) -> None:
    _, stream = render("vllm", ResponseOptions(stream_interval=stream_interval, token_ids=True), SamplingParams())
    counts = [len(chunk["choices"][0]["token_ids"]) for chunk in stream[1:]]
    assert sum(counts) == 5
    assert all(count >= stream_interval for count in counts[:-2] if count)
    assert "".join(TEXTS) == "".join(map(content, stream))
    assert stream[-1]["choices"][0]["finish_reason"] == "stop"


def test_every_chunk_has_the_usage_so_far_on_request() -> None:
    _, stream = render("vllm", ResponseOptions(usage=True, continuous_usage=True))
    counts = [chunk["usage"]["completion_tokens"] for chunk in stream]
    assert [0, 1, 2, 3, 4, 5, 5] == counts
    assert {54} == {chunk["usage"]["prompt_tokens"] for chunk in stream}
    assert all(chunk["usage"]["total_tokens"] == 54 + chunk["usage"]["completion_tokens"] for chunk in stream)


def test_obfuscated_chunks_of_short_texts_have_one_size() -> None:
    _, stream = render("openai", ResponseOptions(obfuscation=True))
    sizes = {len(json.dumps(content(chunk))) + len(chunk["obfuscation"]) for chunk in stream}
    assert sizes == {OBFUSCATION_BLOCK}


def test_the_service_tier_is_reported_in_the_response_and_every_chunk() -> None:
    tiered = replace(metadata("openai"), service_tier="flex")
    answer = build_completion(load("openai"), tiered, 9, deltas(TEXTS))
    assert answer["service_tier"] == "flex"
    writer = ChunkWriter(
        load("openai"),
        tiered,
        SimpleNamespace(prompt_tokens=9),
        SamplingParams(),
        full_text=False,
        options=ResponseOptions(),
    )
    assert [chunk["service_tier"] for chunk in writer.opening_chunks()] == ["flex"]


def test_an_echo_begins_every_choice_once() -> None:
    answer, stream = render("vllm", ResponseOptions(echo="Once "))
    assert answer["choices"][0]["message"]["content"] == "Once The end."
    assert "".join(map(content, stream)) == "Once The end."
    assert content(stream[0]) == "Once "
