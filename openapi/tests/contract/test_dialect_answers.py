"""What the documents show of answers fits the data of the dialects, and what breaks their tables does not."""

from __future__ import annotations

from typing import Any

import pytest

from openapi.contract.contract import load
from openapi.tests.contract.documented_dialects import DIALECTS, VALIDATORS


def answer(**members: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21}
    head = {"id": "chatcmpl-123", "object": "chat.completion", "created": 1677652288, "model": "m"}
    return {**head, "choices": [choice], "usage": usage, **members}


def chunk(**members: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": None}
    head = {"id": "endpoint_common_8", "object": "chat.completion.chunk", "created": 1729614610, "model": "m"}
    return {**head, "choices": [choice], **members}


CALL = {"id": "call-1", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}
TIMED = {"prefill_time": 200, "decode_time_arr": [56, 28.5, 28]}
MEASURED = {"prompt_tokens_details": {"cached_tokens": 0}, "batch_size": [1, 1], "queue_wait_time": [5149, 60]}
MINDIE = [dialect for dialect in DIALECTS if dialect != "ovms-2024"]


@pytest.mark.parametrize("dialect", MINDIE)
def test_answers_as_mindie_shows_them_fit(dialect: str) -> None:
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
    "members",
    [
        {"id": ""},
        {"id": None},
        {"object": "chat.completion.chunk"},
        {"created": "1677652288"},
        {"created": 1.5},
        {"created": -1},
        {"model": None},
        {"choices": []},
        {"choices": None},
        {"usage": {"prompt_tokens": 9, "completion_tokens": 12}},
        {"usage": {"prompt_tokens": -1, "completion_tokens": 12, "total_tokens": 11}},
        {"prefill_time": -1},
        {"decode_time_arr": [1, "2"]},
    ],
    ids=str,
)
def test_answers_that_break_the_table_do_not_fit(dialect: str, members: dict[str, Any]) -> None:
    assert VALIDATORS[dialect].problems("ChatCompletion", answer(**members)) != ()


@pytest.mark.parametrize(
    "members",
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
def test_choices_that_break_the_table_do_not_fit(members: dict[str, Any]) -> None:
    choice = {**answer()["choices"][0], **members}
    assert VALIDATORS["mindie-2.3"].problems("ChatCompletion", answer(choices=[choice])) != ()


def test_answers_as_ovms_shows_them_fit_without_id() -> None:
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
def test_the_form_of_a_stream_orders_every_member_of_a_chunk(dialect: str) -> None:
    contract = load(dialect)
    chunk_members = set(contract.schemas["ChatCompletionChunk"]["properties"])
    assert set(contract.stream.key_order) == chunk_members
    assert ("full_text" in chunk_members) == (contract.stream.full_text == "optional")
    assert ("id" in chunk_members) == (contract.answer.id_prefix is not None)
