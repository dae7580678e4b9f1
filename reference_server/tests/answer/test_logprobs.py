"""Tests of log-probabilities in responses and chunks."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from openapi.contract.contract import load
from openapi.description.validation import Validator
from reference_server.answer.completion import build_completion
from reference_server.engine import Delta, SamplingParams, TokenLogprob
from reference_server.http.served_contract import TEXT_ONLY, served_contract
from reference_server.request.response_options import ResponseOptions
from reference_server.tests.rendering import TEXTS, metadata, render_stream
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


def deltas_with_logprobs() -> list[Delta]:
    first, last = deltas(("", ""))
    return [replace(first, logprob=CAFE), replace(last, logprob=END)]


@pytest.mark.parametrize("dialect", ["mindie", "ovms", "openai"])
def test_every_token_has_its_bytes_and_alternatives(dialect: str) -> None:
    answer = build_completion(load(dialect), metadata(dialect), 9, deltas_with_logprobs())
    logprobs = answer["choices"][0]["logprobs"]
    end = {**HIDDEN, "logprob": -1.5, "top_logprobs": []}
    assert logprobs["content"] == [{**NAMED, "top_logprobs": [NAMED, HIDDEN]}, end]
    assert {name: logprobs[name] for name in logprobs if name != "content"} == (
        {"refusal": None} if dialect == "openai" else {}
    )
    assert (
        Validator(served_contract(load(dialect), bearer=False, lacking=TEXT_ONLY)).problems("ChatCompletion", answer)
        == ()
    )
    json.dumps(answer, allow_nan=False)


def test_a_stream_has_each_token_once_in_the_chunk_with_its_text() -> None:
    params = SamplingParams(logprobs=2)
    chunks = render_stream("mindie", deltas_with_logprobs(), params)
    logprobs = [chunk["choices"][0]["logprobs"] for chunk in chunks]
    assert [[token["token"] for token in entry["content"]] for entry in logprobs] == [["caf\ufffd"], ["<|end|>"]]
    capped = [replace(delta, text=text) for delta, text in zip(deltas_with_logprobs(), ("a", "b"), strict=True)]
    logprobs = [chunk["choices"][0]["logprobs"] for chunk in render_stream("mindie", capped, params)]
    assert [entry and len(entry["content"]) for entry in logprobs] == [1, 1, None]
    whole = render_stream("mindie", capped, replace(params, beam_search=True))
    logprobs = [chunk["choices"][0]["logprobs"] for chunk in whole]
    assert [entry and len(entry["content"]) for entry in logprobs] == [2, None]
    assert [chunk for chunk in chunks_without_logprobs() if "logprobs" in chunk["choices"][0]] == []


def chunks_without_logprobs() -> list[dict[str, Any]]:
    return render_stream("mindie", deltas(TEXTS))


def test_log_probabilities_have_token_ids_instead_of_text_on_request() -> None:
    token = TokenLogprob("a", b"a", -1.0, (TokenLogprob("b", b"b", -0.5, (), 98),), 97)
    generated = [replace(deltas(("a",))[0], logprob=token)]
    for options, names in (
        (ResponseOptions(), ("a", "b")),
        (ResponseOptions(tokens_as_ids=True), ("token_id:97", "token_id:98")),
    ):
        entry = build_completion(load("vllm"), metadata("vllm"), 9, generated, options)["choices"][0]["logprobs"][
            "content"
        ][0]
        assert names == (entry["token"], entry["top_logprobs"][0]["token"])
