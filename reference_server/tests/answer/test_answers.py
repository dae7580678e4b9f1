"""Tests that responses and chunks have the form of the documents' examples, and contain everything generated."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from openapi.contract.contract import load
from openapi.description.validation import Validator
from openapi.stream.event_order import walk
from reference_server.answer.completion import build_completion
from reference_server.answer.response_fields import usage
from reference_server.engine import Delta
from reference_server.http.served_contract import TEXT_ONLY, served_contract
from reference_server.tests.rendering import DIALECTS, TEXTS, content, metadata, render_stream
from reference_server.tests.scripted_engine import deltas

MINDIE = [name for name in DIALECTS if load(name).stream.usage == "with-finish"]

CAPPED = ("The", " ", "end")


def chunks(
    dialect: str, texts: tuple[str, ...] = TEXTS, reason: Any = "stop", *, full_text: bool = False, usage: bool = False
) -> list[dict[str, Any]]:
    return render_stream(dialect, deltas(texts, reason), full_text=full_text, usage=usage)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_response_and_every_chunk_match_the_description(dialect: str) -> None:
    validator = Validator(served_contract(load(dialect), bearer=False, lacking=TEXT_ONLY))
    assert (
        validator.problems("ChatCompletion", build_completion(load(dialect), metadata(dialect), 9, deltas(TEXTS))) == ()
    )
    for requested in (True, False):
        for chunk in chunks(dialect, usage=requested):
            assert validator.problems("ChatCompletionChunk", chunk) == ()


def test_a_response_of_mindie_llm_has_the_fields_of_its_examples() -> None:
    assert build_completion(load("mindie-2.3"), metadata("mindie-2.3"), 9, deltas(("Hello", "!", ""))) == {
        "id": "endpoint_common_8",
        "object": "chat.completion",
        "created": 1_729_614_610,
        "model": "tiny",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hello!", "tool_calls": []},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": 9,
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens": 3,
            "total_tokens": 12,
            "batch_size": [2, 2, 2],
            "queue_wait_time": [500, 500, 500],
        },
        "prefill_time": 2.0,
        "decode_time_arr": [2.0, 2.0],
    }


def test_usage_counts_a_cached_prefix_once_for_all_choices() -> None:
    heads = [replace(delta, index=index, cached_tokens=0 if at else 5) for index in range(2)
             for at, delta in enumerate(deltas(TEXTS))]  # fmt: skip
    for dialect in ("mindie-2.3", "openai"):
        usage = build_completion(load(dialect), metadata(dialect), 9, heads)["usage"]
        assert (usage["prompt_tokens"], usage["prompt_tokens_details"]) == (9, {"cached_tokens": 5})


def test_a_response_of_openvino_model_server_has_the_fields_of_its_example() -> None:
    assert build_completion(load("ovms"), metadata("ovms"), 22, deltas(("How", "", ""))) == {
        "choices": [
            {
                "finish_reason": "stop",
                "index": 0,
                "logprobs": None,
                "message": {"content": "How", "role": "assistant"},
            }
        ],
        "created": 1_729_614_610,
        "model": "tiny",
        "object": "chat.completion",
        "usage": {"completion_tokens": 3, "prompt_tokens": 22, "total_tokens": 25},
    }


@pytest.mark.parametrize("dialect", MINDIE)
def test_a_stream_of_mindie_has_a_chunk_for_each_token_and_the_last_has_no_text(dialect: str) -> None:
    rendered = chunks(dialect)
    assert len(rendered) == len(TEXTS)
    assert "".join(map(content, rendered)) == "The end."
    assert {chunk["choices"][0]["delta"]["role"] for chunk in rendered} == {"assistant"}
    assert [chunk["choices"][0]["finish_reason"] for chunk in rendered] == [None] * 4 + ["stop"]
    assert ["usage" in chunk for chunk in rendered] == [False] * 4 + [True]
    assert content(rendered[-1]) == ""
    assert list(rendered[0]) == ["id", "object", "created", "model", "choices"]
    assert list(rendered[-1]) == ["id", "object", "created", "model", "usage", "choices"]
    assert rendered[-1]["usage"] == build_completion(load(dialect), metadata(dialect), 54, deltas(TEXTS))["usage"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_text_of_a_last_token_is_not_lost(dialect: str) -> None:
    rendered = [chunk for chunk in chunks(dialect, CAPPED, "length", usage=True) if chunk["choices"]]
    assert "".join(map(content, rendered)) == "The end"
    assert len(rendered) == len(CAPPED) + 1 + load(dialect).stream.opening_chunk
    assert (content(rendered[-1]), rendered[-1]["choices"][0]["finish_reason"]) == ("", "length")


@pytest.mark.parametrize("dialect", MINDIE)
@pytest.mark.parametrize(("texts", "reason", "whole"), [(TEXTS, "stop", "The end."), (CAPPED, "length", "The end")])
def test_in_full_text_mode_every_chunk_repeats_the_text_so_far(
    dialect: str, texts: tuple[str, ...], reason: str, whole: str
) -> None:
    rendered = chunks(dialect, texts, reason, full_text=True)
    assert [content(chunk) for chunk in rendered] == ["".join(texts[: at + 1]) for at in range(len(texts))]
    assert ["full_text" in chunk for chunk in rendered] == [False] * (len(texts) - 1) + [True]
    assert rendered[-1]["full_text"] == whole
    assert list(rendered[-1]) == ["id", "object", "created", "model", "full_text", "usage", "choices"]


def test_openvino_model_server_sends_usage_in_a_chunk_of_its_own_only_on_request() -> None:
    requested, default = chunks("ovms", usage=True), chunks("ovms")
    assert [chunk["usage"] for chunk in requested[:-1]] == [None] * (len(requested) - 1)
    assert (requested[-1]["choices"], requested[-1]["usage"]["completion_tokens"]) == ([], len(TEXTS))
    assert [chunk for chunk in default if "usage" in chunk] == []
    assert ["role" in chunk["choices"][0]["delta"] for chunk in default] == [True] + [False] * (len(default) - 1)
    assert list(default[0]) == ["choices", "created", "model", "object"]
    assert [chunk for chunk in default if "id" in chunk] == []


def test_a_dialect_without_stream_options_sends_usage_once() -> None:
    assert chunks("mindie", usage=True) == chunks("mindie")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_order_of_the_chunks_is_valid(dialect: str) -> None:
    for requested in (True, False):
        events = [*(json.dumps(chunk) for chunk in chunks(dialect, usage=requested)), "[DONE]"]
        assert walk(events).breaches == ()


def test_usage_counts_all_tokens_of_a_delta_and_omits_missing_measurements() -> None:
    generated = [Delta("Hello", -1, None, None, None, None, tokens=3), Delta("", -1, "stop", None, None, 0.5, tokens=0)]
    answer = build_completion(load("mindie-2.3"), metadata("mindie-2.3"), 9, generated)
    assert answer["usage"] == {
        "prompt_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens": 3,
        "total_tokens": 12,
    }
    assert (answer["prefill_time"], "decode_time_arr" in answer) == (500.0, False)


def test_accepted_prediction_tokens_are_counted_if_there_is_a_prediction() -> None:
    generated = [
        replace(delta, predicted=hit) for delta, hit in zip(deltas(TEXTS), (True, False, True, False), strict=False)
    ]
    counts = usage(load("openai"), 9, generated)["completion_tokens_details"]
    assert counts == {"accepted_prediction_tokens": 2, "rejected_prediction_tokens": 0}
    assert "completion_tokens_details" not in usage(load("openai"), 9, deltas(TEXTS))
