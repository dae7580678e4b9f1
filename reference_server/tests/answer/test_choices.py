"""Tests of responses and streams with several choices."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from openapi.contract.contract import load
from openapi.description.validation import Validator
from openapi.stream.event_order import walk
from reference_server.answer.completion import build_completion
from reference_server.engine import Delta, SamplingParams
from reference_server.http.served_contract import TEXT_ONLY, served_contract
from reference_server.tests.rendering import DIALECTS, content, metadata, render_stream
from reference_server.tests.scripted_engine import deltas


def several(*texts: tuple[str, ...]) -> list[Delta]:
    """Return the deltas of several choices, interleaved: one delta of each choice at a time."""
    choices = [[replace(delta, index=index) for delta in deltas(text)] for index, text in enumerate(texts)]
    longest = max(map(len, choices))
    return [choice[at] for at in range(longest) for choice in choices if at < len(choice)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_choice_has_its_own_text_finish_reason_and_index_and_usage_counts_all(dialect: str) -> None:
    generated = several(("one", ""), ("two", ".", ""), ("",))
    answer = build_completion(load(dialect), metadata(dialect), 9, generated)
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
    assert [choice["message"]["content"] for choice in answer["choices"]] == ["one", "two.", ""]
    assert [choice["finish_reason"] for choice in answer["choices"]] == ["stop"] * 3
    assert (answer["usage"]["completion_tokens"], answer["usage"]["total_tokens"]) == (6, 15)
    assert (
        Validator(served_contract(load(dialect), bearer=False, lacking=TEXT_ONLY)).problems("ChatCompletion", answer)
        == ()
    )
    assert [len(answer["usage"].get(name, generated)) for name in ("batch_size", "queue_wait_time")] == [6, 6]
    if "decode_time_arr" in answer:
        assert len(answer["decode_time_arr"]) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_of_several_choices_is_valid_and_has_the_text_of_each(dialect: str) -> None:
    generated = several(("one", "", "more", ""), ("two", ".", ""), ("",))
    chunks = render_stream(dialect, generated, SamplingParams(n=3), usage=True)
    walked = walk([*map(json.dumps, chunks), "[DONE]"])
    assert walked.breaches == ()
    assert [walked.choices[index].content for index in range(3)] == ["onemore", "two.", ""]
    assert {len(chunk["choices"]) for chunk in chunks} <= {0, 1}
    roles = [walked.choices[index].roles for index in range(3)]
    if load(dialect).stream.role == "first-delta":
        assert roles == [("assistant",)] * 3
    if load(dialect).stream.opening_chunk:
        assert [chunk["choices"][0]["index"] for chunk in chunks[:3]] == [0, 1, 2]
    completion_tokens = [usage["completion_tokens"] for _, usage in walked.usages]
    assert completion_tokens == ([1, 3, 4] if load(dialect).stream.usage == "with-finish" else [8])


def test_choices_known_only_at_the_end_are_sent_in_one_chunk_each_and_a_last_one() -> None:
    generated = [*deltas(("one", "", "more", "")), *(replace(delta, index=1) for delta in deltas(("two", ".")))]
    for params in (SamplingParams(n=2, beam_search=True), SamplingParams(n=2, best_of=3)):
        chunks = render_stream("mindie", generated, params)
        assert [content(chunk) for chunk in chunks] == ["onemore", "", "two.", ""]
        assert [chunk["choices"][0]["index"] for chunk in chunks] == [0, 0, 1, 1]
        assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, "stop"] * 2
        assert [chunk["usage"]["completion_tokens"] for chunk in chunks[1::2]] == [4, 2]
        whole = render_stream("mindie", generated, params, full_text=True)
        assert [(content(chunk), chunk["full_text"]) for chunk in whole] == [("onemore", "onemore"), ("two.", "two.")]


def test_every_choice_has_its_own_full_text() -> None:
    chunks = render_stream("mindie", several(("a", "b", ""), ("x", "y")), SamplingParams(n=2), full_text=True)
    texts = [(chunk["choices"][0]["index"], content(chunk), chunk.get("full_text")) for chunk in chunks]
    assert texts == [(0, "a", None), (1, "x", None), (0, "ab", None), (1, "xy", "xy"), (0, "ab", "ab")]
