"""Tests of the embedded model with every dialect: requests of the documents, streamed and plain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from openapi.contract.contract import load
from reference_server.tests.embedded_model import DIALECTS, QUESTION, answered, post, walked

if TYPE_CHECKING:
    from collections.abc import Mapping


SINGLE_TURN = {
    "messages": [{"role": "user", "content": "Tell me who you are."}],
    "stream": False,
    "presence_penalty": 1.03,
    "frequency_penalty": 1.0,
    "repetition_penalty": 1.0,
    "temperature": 0.5,
    "top_p": 0.95,
    "top_k": 0,
    "seed": None,
    "stop": ["stop1", "stop2"],
    "stop_token_ids": [2, 13],
    "include_stop_str_in_output": False,
    "skip_special_tokens": True,
    "ignore_eos": False,
    "max_tokens": 20,
}
"""Common parameters of the examples of MindIE and Siliconstorm: mindie-llm-2.3#request/examples and similar."""

TURNS = [
    {"role": "system", "content": "You answer briefly."},
    {"role": "user", "content": "Which town should I visit?"},
    {"role": "assistant", "content": "Shanghai is **worth** a visit."},
    {"role": "user", "content": "What is there to see?"},
]
NO_CHOICE = {"best_of": None, "n": None, "logprobs": False, "top_logprobs": None}
EXAMPLES: list[tuple[str, str, Mapping[str, Any]]] = [
    ("mindie-2.3", "single-turn", {**SINGLE_TURN, **NO_CHOICE, "best_of": 1, "n": 1}),
    (
        "mindie-2.3",
        "text-part",
        {
            **SINGLE_TURN,
            **NO_CHOICE,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "My name is Ann and I"}]}],
        },
    ),
    (
        "mindie-2.3",
        "first-turn",
        {
            **SINGLE_TURN,
            "messages": TURNS[:2],
            "top_k": 1,
            "max_tokens": 200,
            "chat_template_kwargs": {"enable_thinking": False},
        },
    ),
    (
        "mindie-2.3",
        "second-turn",
        {
            **SINGLE_TURN,
            "messages": TURNS,
            "top_k": 1,
            "best_of": None,
            "chat_template_kwargs": {"enable_thinking": False},
        },
    ),
    ("mindie-vllm-1.0", "single-turn", {**SINGLE_TURN, "top_k": -1}),
    (
        "mindie-vllm-1.0",
        "second-turn",
        {
            **SINGLE_TURN,
            "messages": TURNS,
            "repetition_penalty": 1.1,
            "temperature": 0.9,
            "top_p": 1,
            "top_k": -1,
            "stop": None,
            "stop_token_ids": None,
            "max_tokens": 1024,
            "tools": None,
        },
    ),
    ("mindie-1.0", "single-turn", SINGLE_TURN),
    ("siliconstorm", "single-turn", SINGLE_TURN),
    (
        "siliconstorm",
        "second-turn",
        {
            **SINGLE_TURN,
            "messages": TURNS,
            "repetition_penalty": 1.1,
            "temperature": 0.9,
            "top_p": 1,
            "max_tokens": 1024,
        },
    ),
    (
        "ovms-2024",
        "example",
        {
            "messages": [{"role": "system", "content": "You are kind."}, {"role": "user", "content": "hello"}],
            "stream": False,
        },
    ),
]


@pytest.mark.parametrize(("dialect", "name", "request_"), EXAMPLES, ids=[f"{row[0]}-{row[1]}" for row in EXAMPLES])
def test_a_request_from_the_documents_gets_a_response_of_the_documented_form(
    addresses: dict[str, str], dialect: str, name: str, request_: Mapping[str, Any]
) -> None:
    answer = answered(addresses[dialect], dialect, request_)
    usage = answer["usage"]
    assert usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"]
    limit = request_.get("max_tokens", 200)
    assert 1 <= usage["completion_tokens"] <= limit
    if usage["completion_tokens"] < limit:
        assert answer["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_greedy_answers_are_equal_streamed_and_plain(addresses: dict[str, str], dialect: str) -> None:
    request = {"messages": QUESTION, "temperature": 0, "max_tokens": 30}
    plain = answered(addresses[dialect], dialect, request)["choices"][0]
    streamed = walked(addresses[dialect], dialect, request).choices[0]
    assert (streamed.content, streamed.finish_reason) == (plain["message"]["content"], plain["finish_reason"])


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("limit", [1, 3])
def test_a_capped_answer_has_finish_reason_length_and_loses_no_text(
    addresses: dict[str, str], dialect: str, limit: int
) -> None:
    request = {"messages": QUESTION, "temperature": 0, "ignore_eos": True, "max_tokens": limit}
    plain = answered(addresses[dialect], dialect, request)
    streamed = walked(addresses[dialect], dialect, request).choices[0]
    assert plain["usage"]["completion_tokens"] == limit
    assert {plain["choices"][0]["finish_reason"], streamed.finish_reason} == {"length"}
    assert streamed.content == plain["choices"][0]["message"]["content"] != ""


@pytest.mark.parametrize(("dialect", "kept"), [("mindie-2.3", ""), ("ovms-2024", "capital")])
def test_a_stop_string_ends_the_answer_and_stays_if_the_dialect_keeps_it(
    addresses: dict[str, str], dialect: str, kept: str
) -> None:
    request = {"messages": QUESTION, "temperature": 0, "stop": "capital", "max_tokens": 30}
    plain = answered(addresses[dialect], dialect, request)["choices"][0]
    streamed = walked(addresses[dialect], dialect, request).choices[0]
    assert (plain["message"]["content"], plain["finish_reason"]) == ("The ", "stop")
    assert streamed.content == f"The {kept}"


@pytest.mark.parametrize("penalty", [5e-324, 1e-300, 2.0])
def test_the_smallest_valid_penalty_gets_an_answer(addresses: dict[str, str], penalty: float) -> None:
    response = post(
        addresses["mindie-2.3"], "mindie-2.3", {"messages": QUESTION, "repetition_penalty": penalty, "max_tokens": 4}
    )
    assert response.status_code == 200


SAMPLED = {"messages": QUESTION, "temperature": 2.0, "seed": 7, "max_tokens": 12}
CHOICES: list[tuple[str, str, Mapping[str, Any], int]] = [
    ("mindie-2.3", "n", {**SAMPLED, "n": 3}, 3),
    (
        "mindie-2.3",
        "best-of",
        {**SAMPLED, "n": 2, "best_of": 6},
        6,
    ),  # the interpretation best-of-returns: all are returned
    ("mindie-2.3", "beams", {"messages": QUESTION, "use_beam_search": True, "n": 4, "max_tokens": 12}, 4),
    ("mindie-2.3", "one-beam", {"messages": QUESTION, "use_beam_search": True, "max_tokens": 12}, 1),
    ("ovms-2024", "beams", {"messages": QUESTION, "best_of": 4, "n": 3, "length_penalty": 0.5, "max_tokens": 12}, 3),
    ("ovms-2024", "groups", {"messages": QUESTION, "best_of": 4, "n": 4, "diversity_penalty": 20, "max_tokens": 12}, 4),
    ("openai", "n", {**SAMPLED, "n": 9}, 9),
    ("vllm", "n", {**SAMPLED, "n": 6}, 6),
    ("vllm", "beams", {"messages": QUESTION, "use_beam_search": True, "n": 2, "max_tokens": 12}, 2),
]


@pytest.mark.parametrize(
    ("dialect", "name", "request_", "number"), CHOICES, ids=[f"{row[0]}-{row[1]}" for row in CHOICES]
)
def test_several_choices_are_equal_streamed_and_plain(
    addresses: dict[str, str], dialect: str, name: str, request_: Mapping[str, Any], number: int
) -> None:
    answer = answered(addresses[dialect], dialect, request_)
    stream = walked(addresses[dialect], dialect, request_)
    assert [choice["index"] for choice in answer["choices"]] == list(range(number)) == list(stream.choices)
    for index, choice in enumerate(answer["choices"]):
        streamed = stream.choices[index]
        assert (streamed.content, streamed.finish_reason) == (choice["message"]["content"], choice["finish_reason"])
    if name not in {"one-beam", "best-of"}:
        assert len({choice["message"]["content"] for choice in answer["choices"]}) > 1
    total = answer["usage"]["completion_tokens"]
    assert number <= total <= 12 * number
    if load(dialect).stream.usage == "with-finish":
        assert total == sum(usage["completion_tokens"] for _, usage in stream.usages)


def test_the_first_of_several_choices_equals_a_single_choice(addresses: dict[str, str]) -> None:
    single, several = (answered(addresses["mindie-2.3"], "mindie-2.3", {**SAMPLED, "n": n}) for n in (1, 3))
    assert single["choices"][0] == several["choices"][0]


@pytest.mark.parametrize(
    ("dialect", "wide"), [("mindie-2.3", {"use_beam_search": True, "n": 5}), ("ovms", {"best_of": 5})]
)
def test_a_beam_search_that_is_too_wide_is_refused_with_the_reason(
    addresses: dict[str, str], dialect: str, wide: Mapping[str, Any]
) -> None:
    dialect = load(dialect).name
    response = post(addresses[dialect], dialect, {"messages": QUESTION, **wide})
    assert response.status_code == load(dialect).errors.kinds["invalid_request"].status
    assert "5 beams" in response.text


def test_openvino_model_server_reports_logprobs_without_alternatives_and_not_in_streams(
    addresses: dict[str, str],
) -> None:
    request = {"messages": QUESTION, "logprobs": True, "temperature": 0, "max_tokens": 12}
    entries = answered(addresses["ovms-2024"], "ovms-2024", request)["choices"][0]["logprobs"]["content"]
    assert {tuple(entry["top_logprobs"]) for entry in entries} == {()}
    for _, chunk in walked(addresses["ovms-2024"], "ovms-2024", request).chunks:
        assert "logprobs" not in chunk["choices"][0]


def test_reasoning_is_separate_from_the_answer_streamed_and_plain(addresses: dict[str, str]) -> None:
    def request(*, thinking: bool) -> Mapping[str, Any]:
        sent = {"messages": QUESTION, "temperature": 0, "max_tokens": 100}
        return {**sent, "chat_template_kwargs": {"enable_thinking": thinking}}

    address = addresses["mindie-2.3"]
    message = answered(address, "mindie-2.3", request(thinking=True))["choices"][0]["message"]
    stream = walked(address, "mindie-2.3", request(thinking=True)).choices[0]
    assert (stream.reasoning, stream.content) == (message["reasoning_content"], message["content"])
    assert "" not in (stream.reasoning, stream.content)
    assert "think>" not in stream.reasoning + stream.content
    silent = answered(address, "mindie-2.3", request(thinking=False))["choices"][0]["message"]
    assert "reasoning_content" not in silent
    assert silent["content"] == message["content"]
