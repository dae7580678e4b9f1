"""Responses and chunks of the compared interfaces, as their references show them."""

from __future__ import annotations

from typing import Any

import pytest

from openapi.tests.contract.compared_dialects import CALL, COMPARED, CONTRACTS, VALIDATORS


def answer(**fields: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "Hi", "refusal": None, "annotations": []}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "service_tier": "default"}
    return {**head, "choices": [choice], "usage": usage, "system_fingerprint": "fp_1", **fields}


def chunk(**fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**head, "choices": [choice], **fields}


TOKEN = {"token": "Hi", "logprob": -0.5, "bytes": [72, 105]}
OPENAI_USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 12,
    "total_tokens": 21,
    "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 4, "accepted_prediction_tokens": 0},
}


@pytest.mark.parametrize("dialect", COMPARED)
def test_documented_responses_are_valid(dialect: str) -> None:
    problems = VALIDATORS[dialect].problems
    assert problems("ChatCompletion", answer(usage=OPENAI_USAGE)) == ()
    for reason in ("stop", "length", "tool_calls"):
        choice = {**answer()["choices"][0], "finish_reason": reason}
        assert problems("ChatCompletion", answer(choices=[choice])) == ()
    scored = {"content": [{**TOKEN, "top_logprobs": [TOKEN]}]}
    choice = {**answer()["choices"][0], "logprobs": scored}
    assert problems("ChatCompletion", answer(choices=[choice])) == ()
    calls = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    choice = {"index": 0, "message": calls, "logprobs": None, "finish_reason": "tool_calls"}
    assert problems("ChatCompletion", answer(choices=[choice])) == ()
    assert problems("ChatCompletionChunk", chunk()) == ()
    assert problems("ChatCompletionChunk", chunk(usage=None)) == ()
    assert problems("ChatCompletionChunk", chunk(choices=[], usage=OPENAI_USAGE)) == ()
    for delta in ({}, {"content": "Hi"}, {"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}):
        assert problems("ChatCompletionChunk", chunk(choices=[{"index": 0, "delta": delta}])) == ()


@pytest.mark.parametrize("dialect", COMPARED)
@pytest.mark.parametrize(
    "fields",
    [
        {"id": None},
        {"object": "chat.completions"},
        {"created": 1.5},
        {"model": None},
        {"choices": []},
        {"usage": {"prompt_tokens": 9}},
        {"usage": {"prompt_tokens": -1, "completion_tokens": 1, "total_tokens": 0}},
        {"choices": [{**answer()["choices"][0], "finish_reason": ""}]},
        {"choices": [{**answer()["choices"][0], "finish_reason": None}]},
        {"choices": [{**answer()["choices"][0], "logprobs": ""}]},
        {"choices": [{**answer()["choices"][0], "message": {"role": "assistant", "content": 7}}]},
    ],
    ids=str,
)
def test_responses_that_violate_the_reference_are_invalid(dialect: str, fields: dict[str, Any]) -> None:
    assert VALIDATORS[dialect].problems("ChatCompletion", answer(**fields)) != ()


@pytest.mark.parametrize("dialect", COMPARED)
def test_required_fields_of_responses_and_chunks(dialect: str) -> None:
    for schema, whole in (("ChatCompletion", answer()), ("ChatCompletionChunk", chunk())):
        needed = {
            name
            for name in whole
            if VALIDATORS[dialect].problems(schema, {key: value for key, value in whole.items() if key != name})
        }
        assert needed == {"id", "object", "created", "model", "choices"}


def test_finish_reasons_of_each_interface() -> None:
    reasons_of = {
        dialect: CONTRACTS[dialect].schemas["Choice"]["properties"]["finish_reason"]["enum"] for dialect in COMPARED
    }
    assert reasons_of == {
        "openai": ["stop", "length", "tool_calls", "content_filter", "function_call"],
        "vllm": ["stop", "length", "tool_calls", "abort", "repetition"],
    }
    for dialect, reasons in reasons_of.items():
        streamed = CONTRACTS[dialect].schemas["ChunkChoice"]["properties"]["finish_reason"]["enum"]
        assert [*reasons, None] == streamed


def test_vllm_returns_reasoning_and_a_stop_reason() -> None:
    message = {"role": "assistant", "content": "Hi", "reasoning": "Hm.", "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop", "stop_reason": 151645}
    plain = answer(choices=[{**choice, "token_ids": None}], prompt_logprobs=None, kv_transfer_params=None)
    assert VALIDATORS["vllm"].problems("ChatCompletion", plain) == ()
    assert VALIDATORS["vllm"].problems("ChatCompletion", answer(choices=[{**choice, "stop_reason": [1]}])) != ()
    piece = {"index": 0, "delta": {"reasoning": "Hm."}, "finish_reason": None}
    assert VALIDATORS["vllm"].problems("ChatCompletionChunk", chunk(choices=[piece])) == ()


@pytest.mark.parametrize("dialect", COMPARED)
def test_the_key_order_of_a_stream_has_every_field_of_a_chunk(dialect: str) -> None:
    contract = CONTRACTS[dialect]
    assert set(contract.schemas["ChatCompletionChunk"]["properties"]) == set(contract.stream.key_order)
    assert (
        contract.stream.role,
        contract.stream.usage,
        contract.stream.opening_chunk,
        contract.stream.full_text,
    ) == ("first-delta", "on-request", True, "never")
