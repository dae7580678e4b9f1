"""Tests that OpenAI's client reads responses and streams of every dialect, and raises for refusals."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

import openai
import pytest

from openapi.contract.contract import load
from reference_server.tests.embedded_model import DIALECTS, KEY, QUESTION
from reference_server.tests.scripted_engine import PATIENCE_S

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

WITH_ID = [name for name in DIALECTS if load(name).answer.id_prefix]


def client(address: str, dialect: str, *, strict: bool) -> openai.OpenAI:
    base = address + load(dialect).path.removesuffix("/chat/completions")
    return openai.OpenAI(
        base_url=base, api_key=KEY, max_retries=0, timeout=PATIENCE_S, _strict_response_validation=strict
    )


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
def test_the_openai_client_raises_an_error_with_the_status_of_a_refusal(
    addresses: dict[str, str], dialect: str, stream: bool
) -> None:
    status = load(dialect).errors.kinds["invalid_request"].status
    with client(addresses[dialect], dialect, strict=False) as opened, pytest.raises(openai.APIStatusError) as caught:
        opened.chat.completions.create(model="tiny", messages=QUESTION, max_tokens=0, stream=stream)
    assert caught.value.status_code == status
    assert "max_tokens" in caught.value.response.text


@pytest.mark.parametrize("dialect", ["mindie-2.3", "openai"])
def test_the_openai_client_reads_logprobs_whose_bytes_add_up_to_the_text(
    addresses: dict[str, str], dialect: str
) -> None:
    messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Repeat: 你好，世界 🙂"}]
    with client(addresses[dialect], dialect, strict=True) as opened:
        create: Any = functools.partial(
            opened.chat.completions.create, model="tiny", messages=messages, temperature=0, max_tokens=40
        )
        plain = create(logprobs=True, top_logprobs=3).choices[0]
        chunks = list(create(logprobs=True, top_logprobs=3, stream=True))
        without = create().choices[0]
    assert plain.logprobs is not None
    entries = plain.logprobs.content or []
    assert bytes(byte for entry in entries for byte in entry.bytes or ()).decode() == plain.message.content != ""
    assert {len(entry.top_logprobs) for entry in entries} == {3}
    assert all(entry.logprob == entry.top_logprobs[0].logprob <= 0 for entry in entries)
    streamed = [
        entry
        for chunk in chunks
        for choice in chunk.choices
        if choice.logprobs
        for entry in choice.logprobs.content or []
    ]
    assert streamed == entries
    assert without.logprobs is None
    assert without.message == plain.message


def test_a_wrong_key_is_an_authentication_error(addresses: dict[str, str]) -> None:
    opened = client(addresses["siliconstorm"], "siliconstorm", strict=False).with_options(api_key="wrong")
    with opened, pytest.raises(openai.AuthenticationError) as caught:
        opened.chat.completions.create(model="tiny", messages=QUESTION)
    assert json.loads(caught.value.response.text)["code"] == 801
