"""Responses that the documents show are valid, and responses that violate their tables are not."""

from __future__ import annotations

from typing import Any

import pytest

from openapi.contract.contract import load
from openapi.tests.contract.documented_dialects import DIALECTS, VALIDATORS


def answer(**fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21}
    head = {"id": "chatcmpl-123", "object": "chat.completion", "created": 1677652288, "model": "m"}
    return {**head, "choices": [choice], "usage": usage, **fields}


def chunk(**fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": None}
    head = {"id": "endpoint_common_8", "object": "chat.completion.chunk", "created": 1729614610, "model": "m"}
    return {**head, "choices": [choice], **fields}


CALL = {"id": "call-1", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}
TIMED = {"prefill_time": 200, "decode_time_arr": [56, 28.5, 28]}
MEASURED = {"prompt_tokens_details": {"cached_tokens": 0}, "batch_size": [1, 1], "queue_wait_time": [5149, 60]}
MINDIE = [dialect for dialect in DIALECTS if dialect != "ovms-2024"]


@pytest.mark.parametrize("dialect", MINDIE)
def test_documented_responses_of_mindie_are_valid(dialect: str) -> None:
    problems = VALIDATORS[dialect].problems
    assert problems("ChatCompletion", answer(**TIMED)) == ()
    for calls in (None, [], [CALL]):
        message = {"role": "assistant", "content": "", "tool_calls": calls}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}
        assert problems("ChatCompletion", answer(choices=[choice])) == ()
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11, **MEASURED}
    assert problems("ChatCompletion", answer(usage=usage)) == ()
    assert problems("ChatCompletionChunk", chunk()) == ()
    assert problems("ChatCompletionChunk", chunk(usage=usage, full_text="Hi")) == ()


@pytest.mark.parametrize("dialect", MINDIE)
@pytest.mark.parametrize(
    "fields", [{"id": ""}, {"created": -1}, {"prefill_time": -1}, {"decode_time_arr": [-1]}], ids=str
)
def test_unlikely_values_are_left_to_the_checks(dialect: str, fields: dict[str, Any]) -> None:
    assert VALIDATORS[dialect].problems("ChatCompletion", answer(**fields)) == ()


@pytest.mark.parametrize("dialect", MINDIE)
@pytest.mark.parametrize(
    "fields",
    [
        {"id": None},
        {"object": "chat.completion.chunk"},
        {"created": "1677652288"},
        {"created": 1.5},
        {"model": None},
        {"choices": []},
        {"choices": None},
        {"usage": {"prompt_tokens": 9, "completion_tokens": 12}},
        {"usage": {"prompt_tokens": -1, "completion_tokens": 12, "total_tokens": 11}},
        {"prefill_time": "1"},
        {"decode_time_arr": [1, "2"]},
    ],
    ids=str,
)
def test_responses_that_violate_the_table_are_invalid(dialect: str, fields: dict[str, Any]) -> None:
    assert VALIDATORS[dialect].problems("ChatCompletion", answer(**fields)) != ()


@pytest.mark.parametrize(
    "fields",
    [
        {"finish_reason": "eos"},
        {"finish_reason": None},
        {"index": -1},
        {"index": "0"},
        {"message": {"content": "Hi"}},
        {"message": {"role": "user", "content": "Hi"}},
        {"message": {"role": "assistant", "content": 7}},
        {"message": {"role": "assistant", "content": "", "tool_calls": [{**CALL, "id": 7}]}},
    ],
    ids=str,
)
def test_choices_that_violate_the_table_are_invalid(fields: dict[str, Any]) -> None:
    choice = {**answer()["choices"][0], **fields}
    assert VALIDATORS["mindie-2.3"].problems("ChatCompletion", answer(choices=[choice])) != ()


def test_documented_responses_of_ovms_are_valid_without_an_id() -> None:
    problems = VALIDATORS["ovms-2024"].problems
    plain, streamed = answer(), chunk()
    del plain["id"], streamed["id"]
    plain["choices"][0]["logprobs"] = None
    assert problems("ChatCompletion", plain) == ()
    assert problems("ChatCompletionChunk", streamed) == ()
    assert problems("ChatCompletionChunk", {**streamed, "usage": None}) == ()
    assert problems("ChatCompletionChunk", {**streamed, "choices": [], "usage": plain["usage"]}) == ()
    streamed["choices"][0]["delta"] = {"content": "Hi"}
    assert problems("ChatCompletionChunk", streamed) == ()
    plain["choices"][0]["finish_reason"] = "tool_calls"
    assert problems("ChatCompletion", plain) != ()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_key_order_of_a_stream_has_every_field_of_a_chunk(dialect: str) -> None:
    contract = load(dialect)
    chunk_fields = set(contract.schemas["ChatCompletionChunk"]["properties"])
    assert set(contract.stream.key_order) == chunk_fields
    assert ("full_text" in chunk_fields) == (contract.stream.full_text == "optional")
    assert ("id" in chunk_fields) == (contract.answer.id_prefix is not None)
