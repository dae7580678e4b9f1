"""render: every token is named once, with its bytes and its alternatives."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from openapi.contract.contract import load
from openapi.description.validation import Validator
from reference_server.answer.completion import completion
from reference_server.engine import Delta, SamplingParams, TokenLogprob
from reference_server.http.served_contract import served
from reference_server.request.response_options import Telling
from reference_server.tests.rendering import TEXTS, heading, stream_of
from reference_server.tests.scripted_engine import deltas

CAFE = TokenLogprob(
    "caf\ufffd",
    b"caf\xc3",
    -0.25,
    (TokenLogprob("caf\ufffd", b"caf\xc3", -0.25), TokenLogprob("<|end|>", None, -math.inf)),
)
END = TokenLogprob("<|end|>", None, -1.5)
NAMED = {"token": "caf\ufffd", "logprob": -0.25, "bytes": [99, 97, 102, 195]}
HIDDEN = {"token": "<|end|>", "logprob": -9999.0, "bytes": None}


def scored() -> list[Delta]:
    first, last = deltas(("", ""))
    return [replace(first, logprob=CAFE), replace(last, logprob=END)]


@pytest.mark.parametrize("dialect", ["mindie", "ovms", "openai"])
def test_every_token_is_named_with_its_bytes_and_alternatives(dialect: str) -> None:
    answer = completion(load(dialect), heading(dialect), 9, scored())
    found = answer["choices"][0]["logprobs"]
    end = {**HIDDEN, "logprob": -1.5, "top_logprobs": []}
    assert found["content"] == [{**NAMED, "top_logprobs": [NAMED, HIDDEN]}, end]
    assert {name: found[name] for name in found if name != "content"} == (
        {"refusal": None} if dialect == "openai" else {}
    )
    assert Validator(served(load(dialect), bearer=False)).problems("ChatCompletion", answer) == ()
    json.dumps(answer, allow_nan=False)


def test_a_stream_names_every_token_once_where_its_text_is() -> None:
    params = SamplingParams(logprobs=2)
    chunks = stream_of("mindie", scored(), params)
    told = [chunk["choices"][0]["logprobs"] for chunk in chunks]
    assert [[each["token"] for each in one["content"]] for one in told] == [["caf\ufffd"], ["<|end|>"]]
    capped = [replace(delta, text=text) for delta, text in zip(scored(), ("a", "b"), strict=True)]
    told = [chunk["choices"][0]["logprobs"] for chunk in stream_of("mindie", capped, params)]
    assert [one and len(one["content"]) for one in told] == [1, 1, None]
    whole = stream_of("mindie", capped, replace(params, beam_search=True))
    assert [one and len(one["content"]) for one in (c["choices"][0]["logprobs"] for c in whole)] == [2, None]
    assert [chunk for chunk in chunks_without_logprobs() if "logprobs" in chunk["choices"][0]] == []


def chunks_without_logprobs() -> list[dict[str, Any]]:
    return stream_of("mindie", deltas(TEXTS))


def test_log_probabilities_name_tokens_by_id_on_request() -> None:
    token = TokenLogprob("a", b"a", -1.0, (TokenLogprob("b", b"b", -0.5, (), 98),), 97)
    said = [replace(deltas(("a",))[0], logprob=token)]
    for telling, called in ((Telling(), ("a", "b")), (Telling(tokens_as_ids=True), ("token_id:97", "token_id:98"))):
        entry = completion(load("vllm"), heading("vllm"), 9, said, telling)["choices"][0]["logprobs"]["content"][0]
        assert called == (entry["token"], entry["top_logprobs"][0]["token"])
