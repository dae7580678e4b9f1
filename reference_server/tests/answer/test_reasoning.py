"""render: thoughts stand beside the answer, or are counted where they are not shown."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from openapi.contract.contract import load
from openapi.description.validation import Validator
from openapi.stream.event_order import walk
from reference_server.answer.completion import completion
from reference_server.request.response_options import Telling
from reference_server.tests.rendering import TEXTS, content, heading, stream_of
from reference_server.tests.scripted_engine import deltas

if TYPE_CHECKING:
    from reference_server.engine import Delta


def thoughtful() -> list[Delta]:
    thoughts = ("hm", ", so", "", "", "")
    return [
        replace(delta, reasoning=each) for delta, each in zip(deltas(("", "", "y", "es", "")), thoughts, strict=True)
    ]


@pytest.mark.parametrize(("dialect", "member"), [("mindie", "reasoning_content"), ("vllm", "reasoning")])
def test_a_thought_stands_beside_the_answer_by_the_name_of_the_dialect(dialect: str, member: str) -> None:
    answer = completion(load(dialect), heading(dialect), 9, thoughtful())
    assert answer["choices"][0]["message"].items() >= {"role": "assistant", "content": "yes", member: "hm, so"}.items()
    assert Validator(load(dialect)).problems("ChatCompletion", answer) == ()
    chunks = stream_of(dialect, thoughtful())
    found = walk([*map(json.dumps, chunks), "[DONE]"])
    assert found.breaches == ()
    assert (found.choices[0].reasoning, found.choices[0].content) == ("hm, so", "yes")
    assert {name for chunk in chunks for name in chunk["choices"][0]["delta"]} == {"role", "content", member}
    for chunk in chunks:
        assert Validator(load(dialect)).problems("ChatCompletionChunk", chunk) == ()


def test_full_texts_repeat_the_thought_too() -> None:
    chunks = stream_of("mindie", thoughtful(), full_text=True)
    thoughts = [chunk["choices"][0]["delta"].get("reasoning_content") for chunk in chunks]
    assert thoughts == ["hm", *["hm, so"] * 4]
    assert (chunks[-1]["full_text"], content(chunks[-1])) == ("yes", "yes")
    found = walk([*map(json.dumps, chunks), "[DONE]"])
    assert (found.choices[0].reasoning, found.choices[0].content) == ("hm, so", "yes")


def test_an_answer_without_thought_has_no_member_for_it() -> None:
    answer = completion(load("mindie"), heading("mindie"), 9, deltas(TEXTS))
    assert "reasoning_content" not in answer["choices"][0]["message"]


def test_thoughts_that_are_not_shown_are_counted() -> None:
    thoughts = ("Hm", "m", "", "")
    pairs = zip(deltas(("", "", "Yes", "")), thoughts, strict=True)
    said = [replace(delta, reasoning=thought) for delta, thought in pairs]
    usage = {"reasoning_tokens": 2}
    for dialect, telling in (("openai", Telling()), ("vllm", Telling(reasoning=False))):
        answer = completion(load(dialect), heading(dialect), 9, said, telling)
        assert "Hm" not in json.dumps(answer)
        assert usage == answer["usage"]["completion_tokens_details"]
        assert "Hm" not in json.dumps(stream_of(dialect, said, telling=telling))
    assert completion(load("vllm"), heading("vllm"), 9, said)["choices"][0]["message"]["reasoning"] == "Hmm"
