"""The embedded model behind every dialect, met as its users do: the documents' requests, and OpenAI's own client."""

from __future__ import annotations

import functools
import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import httpx
import openai
import pytest

from openapi import sse
from openapi.contract import load, names
from openapi.stream import Walk, walk
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


def walked(address: str, dialect: str, request: Mapping[str, Any]) -> Walk:
    """The stream that a request gets; nothing is wrong with it."""
    response = post(address, dialect, {**request, "stream": True})
    found = walk([event.data for event in sse.decode([(0.0, response.content)]).events])
    assert (response.status_code, found.breaches) == (200, ())
    for _, chunk in found.chunks:
        assert Validator(served(load(dialect), bearer=False)).problems("ChatCompletionChunk", chunk) == ()
    return found


def answered(address: str, dialect: str, request: Mapping[str, Any]) -> dict[str, Any]:
    response = post(address, dialect, request)
    assert response.status_code == 200
    answer: dict[str, Any] = response.json()
    assert Validator(served(load(dialect), bearer=False)).problems("ChatCompletion", answer) == ()
    return answer


HOT = {"messages": QUESTION, "temperature": 2.0, "seed": 7, "max_tokens": 12}
CHOICES: list[tuple[str, str, Mapping[str, Any], int]] = [
    ("mindie-2.3", "n", {**HOT, "n": 3}, 3),
    ("mindie-2.3", "best-of", {**HOT, "n": 2, "best_of": 6}, 6),  # the reading best-of-returns: all come back
    ("mindie-2.3", "beams", {"messages": QUESTION, "use_beam_search": True, "n": 4, "max_tokens": 12}, 4),
    ("mindie-2.3", "one-beam", {"messages": QUESTION, "use_beam_search": True, "max_tokens": 12}, 1),
    ("ovms-2024", "beams", {"messages": QUESTION, "best_of": 4, "n": 3, "length_penalty": 0.5, "max_tokens": 12}, 3),
    ("ovms-2024", "groups", {"messages": QUESTION, "best_of": 4, "n": 4, "diversity_penalty": 20, "max_tokens": 12}, 4),
    ("openai", "n", {**HOT, "n": 9}, 9),
    ("vllm", "n", {**HOT, "n": 6}, 6),
    ("vllm", "beams", {"messages": QUESTION, "use_beam_search": True, "n": 2, "max_tokens": 12}, 2),
]


@pytest.mark.parametrize(
    ("dialect", "name", "request_", "number"), CHOICES, ids=[f"{row[0]}-{row[1]}" for row in CHOICES]
)
def test_several_choices_are_the_same_streamed_and_plain(
    addresses: dict[str, str], dialect: str, name: str, request_: Mapping[str, Any], number: int
) -> None:
    answer = answered(addresses[dialect], dialect, request_)
    stream = walked(addresses[dialect], dialect, request_)
    assert [choice["index"] for choice in answer["choices"]] == list(range(number)) == list(stream.choices)
    for index, choice in enumerate(answer["choices"]):
        found = stream.choices[index]
        assert (found.content, found.finish_reason) == (choice["message"]["content"], choice["finish_reason"])
    if name not in {"one-beam", "best-of"}:
        assert len({choice["message"]["content"] for choice in answer["choices"]}) > 1
    total = answer["usage"]["completion_tokens"]
    assert number <= total <= 12 * number
    if load(dialect).stream.usage == "with-finish":
        assert total == sum(usage["completion_tokens"] for _, usage in stream.usages)


def test_the_first_of_several_choices_is_the_only_one_of_a_single_one(addresses: dict[str, str]) -> None:
    single, several = (answered(addresses["mindie-2.3"], "mindie-2.3", {**HOT, "n": n}) for n in (1, 3))
    assert single["choices"][0] == several["choices"][0]


@pytest.mark.parametrize(
    ("dialect", "wide"), [("mindie-2.3", {"use_beam_search": True, "n": 5}), ("ovms", {"best_of": 5})]
)
def test_a_search_that_is_too_wide_is_refused_with_the_reason(
    addresses: dict[str, str], dialect: str, wide: Mapping[str, Any]
) -> None:
    dialect = load(dialect).name
    response = post(addresses[dialect], dialect, {"messages": QUESTION, **wide})
    assert response.status_code == load(dialect).errors.kinds["invalid_request"].status
    assert "5 beams" in response.text


@pytest.mark.parametrize("dialect", ["mindie-2.3", "openai"])
def test_the_openai_client_reads_logprobs_whose_bytes_are_the_text(addresses: dict[str, str], dialect: str) -> None:
    messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Repeat: 你好，世界 🙂"}]
    with client(addresses[dialect], dialect, strict=True) as opened:
        create: Any = functools.partial(
            opened.chat.completions.create, model="tiny", messages=messages, temperature=0, max_tokens=40
        )
        plain = create(logprobs=True, top_logprobs=3).choices[0]
        chunks = list(create(logprobs=True, top_logprobs=3, stream=True))
        unasked = create().choices[0]
    assert plain.logprobs is not None
    told = plain.logprobs.content or []
    assert bytes(byte for each in told for byte in each.bytes or ()).decode() == plain.message.content != ""
    assert {len(each.top_logprobs) for each in told} == {3}
    assert all(each.logprob == each.top_logprobs[0].logprob <= 0 for each in told)
    streamed = [
        each
        for chunk in chunks
        for choice in chunk.choices
        if choice.logprobs
        for each in choice.logprobs.content or []
    ]
    assert streamed == told
    assert unasked.logprobs is None
    assert unasked.message == plain.message


def test_openvino_model_server_tells_of_chosen_tokens_only_and_not_in_streams(addresses: dict[str, str]) -> None:
    request = {"messages": QUESTION, "logprobs": True, "temperature": 0, "max_tokens": 12}
    told = answered(addresses["ovms-2024"], "ovms-2024", request)["choices"][0]["logprobs"]["content"]
    assert {tuple(each["top_logprobs"]) for each in told} == {()}
    for _, chunk in walked(addresses["ovms-2024"], "ovms-2024", request).chunks:
        assert "logprobs" not in chunk["choices"][0]


def test_thoughts_stand_apart_from_the_answer_streamed_and_plain(addresses: dict[str, str]) -> None:
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


def test_a_wrong_key_is_an_authentication_error(addresses: dict[str, str]) -> None:
    opened = client(addresses["siliconstorm"], "siliconstorm", strict=False).with_options(api_key="wrong")
    with opened, pytest.raises(openai.AuthenticationError) as caught:
        opened.chat.completions.create(model="tiny", messages=QUESTION)
    assert json.loads(caught.value.response.text)["code"] == 801
