"""Tests of reasoning in responses and chunks: shown in a field of its own, or only counted."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from openapi.contract.contract import load
from openapi.description.validation import Validator
from openapi.stream.event_order import walk
from reference_server.answer.completion import build_completion
from reference_server.request.response_options import ResponseOptions
from reference_server.tests.rendering import TEXTS, content, metadata, render_stream
from reference_server.tests.scripted_engine import deltas

if TYPE_CHECKING:
    from reference_server.engine import Delta


def deltas_with_reasoning() -> list[Delta]:
    thoughts = ("hm", ", so", "", "", "")
    return [
        replace(delta, reasoning=thought)
        for delta, thought in zip(deltas(("", "", "y", "es", "")), thoughts, strict=True)
    ]


@pytest.mark.parametrize(("dialect", "field"), [("mindie", "reasoning_content"), ("vllm", "reasoning")])
def test_reasoning_has_the_field_name_of_the_dialect(dialect: str, field: str) -> None:
    answer = build_completion(load(dialect), metadata(dialect), 9, deltas_with_reasoning())
    assert answer["choices"][0]["message"].items() >= {"role": "assistant", "content": "yes", field: "hm, so"}.items()
    assert Validator(load(dialect)).problems("ChatCompletion", answer) == ()
    chunks = render_stream(dialect, deltas_with_reasoning())
    walked = walk([*map(json.dumps, chunks), "[DONE]"])
    assert walked.breaches == ()
    assert (walked.choices[0].reasoning, walked.choices[0].content) == ("hm, so", "yes")
    assert {name for chunk in chunks for name in chunk["choices"][0]["delta"]} == {"role", "content", field}
    for chunk in chunks:
        assert Validator(load(dialect)).problems("ChatCompletionChunk", chunk) == ()


def test_full_text_mode_repeats_the_reasoning_too() -> None:
    chunks = render_stream("mindie", deltas_with_reasoning(), full_text=True)
    thoughts = [chunk["choices"][0]["delta"].get("reasoning_content") for chunk in chunks]
    assert thoughts == ["hm", *["hm, so"] * 4]
    assert (chunks[-1]["full_text"], content(chunks[-1])) == ("yes", "yes")
    walked = walk([*map(json.dumps, chunks), "[DONE]"])
    assert (walked.choices[0].reasoning, walked.choices[0].content) == ("hm, so", "yes")


def test_a_response_without_reasoning_has_no_field_for_it() -> None:
    answer = build_completion(load("mindie"), metadata("mindie"), 9, deltas(TEXTS))
    assert "reasoning_content" not in answer["choices"][0]["message"]


def test_hidden_reasoning_is_counted() -> None:
    thoughts = ("Hm", "m", "", "")
    pairs = zip(deltas(("", "", "Yes", "")), thoughts, strict=True)
    generated = [replace(delta, reasoning=thought) for delta, thought in pairs]
    usage = {"reasoning_tokens": 2}
    for dialect, options in (("openai", ResponseOptions()), ("vllm", ResponseOptions(reasoning=False))):
        answer = build_completion(load(dialect), metadata(dialect), 9, generated, options)
        assert "Hm" not in json.dumps(answer)
        assert usage == answer["usage"]["completion_tokens_details"]
        assert "Hm" not in json.dumps(render_stream(dialect, generated, options=options))
    assert build_completion(load("vllm"), metadata("vllm"), 9, generated)["choices"][0]["message"]["reasoning"] == "Hmm"
