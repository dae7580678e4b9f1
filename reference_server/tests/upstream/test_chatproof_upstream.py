"""Tests of the gateway with chatproof servers as upstreams: same answers, in the gateway's own dialect."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from openapi.contract.contract import load, names
from openapi.description.validation import Validator
from openapi.stream import sse
from openapi.stream.event_order import walk
from reference_server.engine.loop.local_engine import LocalEngine
from reference_server.settings import Settings
from reference_server.tests.gateway import gateway
from reference_server.tests.scripted_engine import PATIENCE_S, ScriptedEngine, running
from reference_server.tiny import CHECKPOINT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHECK_S = 300
DIALECTS = sorted(set(names().values()))
KEY = "key-of-the-test"
TEXTS = ["The", " capital", " is", " Paris", ".", ""]
REQUEST = {"model": "tiny", "messages": [{"role": "user", "content": "What is it"}]}


def post(address: str, dialect: str, **fields: Any) -> httpx.Response:
    return httpx.post(
        address + load(dialect).path,
        json={**REQUEST, **fields},
        headers={"Authorization": f"Bearer {KEY}"},
        timeout=PATIENCE_S,
    )


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of the environment variable that holds the upstream's key."""
    monkeypatch.setenv("CHATPROOF_TEST_UPSTREAM", KEY)
    return "CHATPROOF_TEST_UPSTREAM"


@pytest.mark.takes_turns
@pytest.mark.parametrize("upstream", DIALECTS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_gives_the_same_answer_with_every_upstream_dialect(dialect: str, upstream: str, key: str) -> None:
    upstream_server = running(load(upstream), ScriptedEngine(TEXTS), Settings(model="theirs", api_key=KEY))
    with upstream_server as server, gateway(load(dialect), server.address, api_key=KEY, key_variable=key) as front:
        plain = post(front.address, dialect)
        streamed = post(front.address, dialect, stream=True)
    answer = plain.json()
    assert (plain.text, 200) == (plain.text, plain.status_code)
    assert (plain.status_code, Validator(load(dialect)).problems("ChatCompletion", answer)) == (200, ())
    choice = answer["choices"][0]
    assert ("The capital is Paris.", "stop") == (choice["message"]["content"], choice["finish_reason"])
    counts = {"prompt_tokens": 3, "completion_tokens": 6, "total_tokens": 9}
    assert counts == {name: answer["usage"][name] for name in counts}
    walked = walk([event.data for event in sse.decode([(0.0, streamed.content)]).events])
    assert walked.breaches == ()
    assert ("The capital is Paris.", "stop") == (walked.choices[0].content, walked.choices[0].finish_reason)
    assert [answer["usage"]] == [usage for _, usage in walked.usages] or load(dialect).stream.usage == "on-request"


@pytest.fixture(scope="module")
def wide_engine() -> Iterator[LocalEngine]:
    """The embedded model with the default number of slots."""
    with closing(LocalEngine.load(CHECKPOINT, device="cpu")) as engine:
        yield engine


@pytest.mark.takes_turns
@pytest.mark.parametrize(("dialect", "upstream"), [("mindie-2.3", "vllm"), ("siliconstorm", "openai")])
def test_a_gateway_is_conformant(
    dialect: str, upstream: str, wide_engine: LocalEngine, key: str, tmp_path: Path
) -> None:
    upstream_server = running(load(upstream), wide_engine, Settings(model="theirs", api_key=KEY))
    command = ["-m", "chatproof", "check", "--dialect", dialect, "--api-key-env", "CHATPROOF_TEST_UPSTREAM"]
    command += ["--depth", "quick"]
    with upstream_server as server, gateway(load(dialect), server.address, api_key=KEY, key_variable=key) as front:
        done = subprocess.run(
            [sys.executable, *command, front.address], cwd=tmp_path, capture_output=True, text=True, timeout=CHECK_S
        )
    assert (done.returncode, "" if done.returncode == 0 else done.stdout[-4000:]) == (0, "")


def test_tools_are_called_through_a_gateway(tiny_engine: LocalEngine, key: str) -> None:
    weather = {
        "name": "get_weather",
        "description": "Weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
    fields: dict[str, Any] = {
        "messages": [{"role": "user", "content": "What is the weather in Rome?"}],
        "tools": [{"type": "function", "function": weather}],
        "tool_choice": "required",
        "temperature": 0,
        "max_tokens": 64,
    }
    upstream_server = running(load("vllm"), tiny_engine, Settings(model="theirs", api_key=KEY))
    with upstream_server as server, gateway(load("mindie"), server.address, api_key=KEY, key_variable=key) as front:
        plain = post(front.address, "mindie", **fields).json()["choices"][0]
        streamed = post(front.address, "mindie", **fields, stream=True)
    (call,) = plain["message"]["tool_calls"]
    assert (call["function"]["name"], list(json.loads(call["function"]["arguments"]))) == ("get_weather", ["city"])
    assert plain["finish_reason"] == "tool_calls"
    choice = walk([event.data for event in sse.decode([(0.0, streamed.content)]).events]).choices[0]
    assert [(tool_call.name, tool_call.arguments) for tool_call in choice.tool_calls] == [
        ("get_weather", call["function"]["arguments"])
    ]


def test_a_response_format_is_kept_through_a_gateway(tiny_engine: LocalEngine, key: str) -> None:
    schema = {
        "type": "object",
        "properties": {"size": {"enum": [1, 2]}},
        "required": ["size"],
        "additionalProperties": False,
    }
    response_format = {"type": "json_schema", "json_schema": {"name": "size", "schema": schema}}
    upstream_server = running(load("vllm"), tiny_engine, Settings(model="theirs", api_key=KEY))
    with upstream_server as server, gateway(load("vllm"), server.address, api_key=KEY, key_variable=key) as front:
        requests: list[dict[str, Any]] = [
            {"response_format": response_format},
            {"structured_outputs": {"choice": ["[1]", "[2]"]}, "logprobs": True},
            {"response_format": {"type": "text"}, "max_tokens": 2},
        ]
        sampled = {"temperature": 2.0, "seed": 3}  # with this seed the model does not reason before it answers
        answers = [post(front.address, "vllm", **sampled, **fields).json()["choices"][0] for fields in requests]
        described = httpx.get(f"{front.address}/openapi.json").json()["info"]["x-capabilities"]
    formed, chosen, free = (answer["message"]["content"] for answer in answers)
    assert json.loads(formed)["size"] in (1, 2)
    assert chosen in ("[1]", "[2]")
    assert chosen in "".join(entry["token"] for entry in answers[1]["logprobs"]["content"])
    assert isinstance(free, str)
    assert {"structured_output", "logprobs"} <= set(described)
