"""The embedded model behind every dialect, met as its users do: the documents' requests, and OpenAI's own client."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import httpx
import openai
import pytest

from openapi import sse
from openapi.contract import load, names
from openapi.stream import walk
from openapi.validation import Validator
from reference_server.offer import served
from reference_server.settings import Settings
from reference_server.tests.scripted import PATIENCE_S, running

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openai.types.chat import ChatCompletionMessageParam

    from reference_server.engine import LocalEngine

DIALECTS = sorted(set(names().values()))
WITH_ID = [name for name in DIALECTS if load(name).answer.id_prefix]
KEY = "key-1"
QUESTION: list[ChatCompletionMessageParam] = [{"role": "user", "content": "What is the capital of France?"}]

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
"""What the examples of MindIE and Siliconstorm share: mindie-llm-2.3#request/examples and its sisters."""

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


@pytest.fixture(scope="module")
def addresses(tiny_engine: LocalEngine) -> Iterator[dict[str, str]]:
    """One server for each dialect, all over one engine."""
    with ExitStack() as servers:
        found = {}
        for dialect in DIALECTS:
            key = KEY if load(dialect).auth == "bearer" else None
            settings = Settings(model="tiny", api_key=key)
            found[dialect] = servers.enter_context(running(load(dialect), tiny_engine, settings)).address
        yield found


def post(address: str, dialect: str, request: Mapping[str, Any]) -> httpx.Response:
    return httpx.post(
        address + load(dialect).path,
        json={"model": "tiny", **request},
        headers={"Authorization": f"Bearer {KEY}"},
        timeout=PATIENCE_S,
    )


def client(address: str, dialect: str, *, strict: bool) -> openai.OpenAI:
    base = address + load(dialect).path.removesuffix("/chat/completions")
    return openai.OpenAI(
        base_url=base, api_key=KEY, max_retries=0, timeout=PATIENCE_S, _strict_response_validation=strict
    )


@pytest.mark.parametrize(("dialect", "name", "request_"), EXAMPLES, ids=[f"{row[0]}-{row[1]}" for row in EXAMPLES])
def test_a_request_like_the_documents_gets_an_answer_of_the_documented_form(
    addresses: dict[str, str], dialect: str, name: str, request_: Mapping[str, Any]
) -> None:
    validator = Validator(served(load(dialect), bearer=False))
    response = post(addresses[dialect], dialect, request_)
    assert (response.status_code, validator.problems("ChatCompletion", response.json())) == (200, ())
    usage = response.json()["usage"]
    assert usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"]
    limit = request_.get("max_tokens", 200)
    assert 1 <= usage["completion_tokens"] <= limit
    if usage["completion_tokens"] < limit:
        assert response.json()["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_greedy_answers_are_the_same_streamed_and_plain(addresses: dict[str, str], dialect: str) -> None:
    request = {"messages": QUESTION, "temperature": 0, "max_tokens": 30}
    plain = post(addresses[dialect], dialect, request).json()["choices"][0]
    response = post(addresses[dialect], dialect, {**request, "stream": True})
    walked = walk([event.data for event in sse.decode([(0.0, response.content)]).events])
    assert walked.breaches == ()
    assert (walked.choices[0].content, walked.choices[0].finish_reason) == (
        plain["message"]["content"],
        plain["finish_reason"],
    )


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("limit", [1, 3])
def test_a_capped_answer_says_so_and_loses_no_text(addresses: dict[str, str], dialect: str, limit: int) -> None:
    request = {"messages": QUESTION, "temperature": 0, "ignore_eos": True, "max_tokens": limit}
    plain = post(addresses[dialect], dialect, request).json()
    response = post(addresses[dialect], dialect, {**request, "stream": True})
    walked = walk([event.data for event in sse.decode([(0.0, response.content)]).events])
    assert plain["usage"]["completion_tokens"] == limit
    assert {plain["choices"][0]["finish_reason"], walked.choices[0].finish_reason} == {"length"}
    assert walked.choices[0].content == plain["choices"][0]["message"]["content"] != ""


@pytest.mark.parametrize(("dialect", "kept"), [("mindie-2.3", ""), ("ovms-2024", "capital")])
def test_a_stop_text_ends_the_answer_and_stays_where_the_dialect_keeps_it(
    addresses: dict[str, str], dialect: str, kept: str
) -> None:
    request = {"messages": QUESTION, "temperature": 0, "stop": "capital", "max_tokens": 30}
    plain = post(addresses[dialect], dialect, request).json()["choices"][0]
    response = post(addresses[dialect], dialect, {**request, "stream": True})
    walked = walk([event.data for event in sse.decode([(0.0, response.content)]).events])
    assert (plain["message"]["content"], plain["finish_reason"]) == ("The ", "stop")
    assert walked.choices[0].content == f"The {kept}"


@pytest.mark.parametrize("penalty", [5e-324, 1e-300, 2.0])
def test_the_smallest_legal_penalty_is_an_answer_or_a_clear_refusal(addresses: dict[str, str], penalty: float) -> None:
    response = post(
        addresses["mindie-2.3"], "mindie-2.3", {"messages": QUESTION, "repetition_penalty": penalty, "max_tokens": 4}
    )
    assert response.status_code == 200


@pytest.mark.parametrize(
    ("dialect", "strict"), [*((name, strict) for name in WITH_ID for strict in (False, True)), ("ovms-2024", False)]
)
def test_the_openai_client_reads_answers_and_streams(addresses: dict[str, str], dialect: str, strict: bool) -> None:
    with client(addresses[dialect], dialect, strict=strict) as opened:
        answer = opened.chat.completions.create(model="tiny", messages=QUESTION, temperature=0, max_tokens=30)
        chunks = list(
            opened.chat.completions.create(model="tiny", messages=QUESTION, temperature=0, max_tokens=30, stream=True)
        )
        models = [model.id for model in opened.models.list()]
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.completion_tokens <= 30
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == answer.choices[0].message.content != ""
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert models == ["tiny"]


def test_the_openai_client_reads_usage_on_request(addresses: dict[str, str]) -> None:
    with client(addresses["ovms-2024"], "ovms-2024", strict=False) as opened:
        *chunks, last = opened.chat.completions.create(
            model="tiny", messages=QUESTION, max_tokens=5, stream=True, stream_options={"include_usage": True}
        )
    assert last.choices == []
    assert last.usage is not None
    assert last.usage.completion_tokens <= 5
    assert [chunk.usage for chunk in chunks] == [None] * len(chunks)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_the_openai_client_raises_for_a_refusal_with_its_status(
    addresses: dict[str, str], dialect: str, stream: bool
) -> None:
    status = load(dialect).errors.kinds["invalid_request"].status
    with client(addresses[dialect], dialect, strict=False) as opened, pytest.raises(openai.APIStatusError) as caught:
        opened.chat.completions.create(model="tiny", messages=QUESTION, max_tokens=0, stream=stream)
    assert caught.value.status_code == status
    assert "max_tokens" in caught.value.response.text


def test_a_wrong_key_is_an_authentication_error(addresses: dict[str, str]) -> None:
    opened = client(addresses["siliconstorm"], "siliconstorm", strict=False).with_options(api_key="wrong")
    with opened, pytest.raises(openai.AuthenticationError) as caught:
        opened.chat.completions.create(model="tiny", messages=QUESTION)
    assert json.loads(caught.value.response.text)["code"] == 801
