"""Test where each check draws the line: with exchanges on both sides of it that differ in one small edit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from conformance.proof.editing.responses import accept, cut, dump, refuse, with_header, with_json
from conformance.proof.editing.streams import FIRST, LAST, edit_choices, edit_chunks
from conformance.tests.judge.exchange_edits import (
    both,
    call,
    ending,
    error_code,
    full_texts,
    function,
    lasting,
    media_type,
    of_answer,
    of_choice,
    of_chunks,
    of_message,
    of_request,
    of_usage,
    other_text,
    rewritten,
    spread,
    status,
    unchanged,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exchange import Exchange
    from conformance.tests.conftest import Good

PLAIN, STREAM, CUT = "greedy/plain", "greedy/streamed", "cut-at-7/plain"
SEVERAL = "choices/streamed-choices"
LONG = "long-stream/main"
REFUSED = "refused-stream/main"

# (check, exchange, change) -> edit and result; "not exercised": the requirement does not apply
CASES: dict[tuple[str, str, str], tuple[Callable[[Exchange], Exchange], str]] = {
    ("answer.accepted", PLAIN, "201"): (status(201), "finding"),
    ("answer.accepted", PLAIN, "cut"): (cut, "finding"),
    ("answer.no-error-inside", PLAIN, "a null error"): (of_answer(error=None), "pass"),
    ("answer.no-error-inside", PLAIN, "an error and choices"): (of_answer(error={"message": "x"}), "finding"),
    ("answer.no-error-inside", PLAIN, "another status"): (status(500), "not observed"),
    ("answer.indices-from-zero", PLAIN, "true"): (of_choice(index=True), "finding"),
    ("answer.indices-from-zero", PLAIN, "a string"): (of_choice(index="0"), "finding"),
    ("answer.one-choice-by-default", PLAIN, "n null"): (of_request(n=None), "pass"),
    ("answer.one-choice-by-default", PLAIN, "n 2"): (of_request(n=2), "not exercised"),
    ("answer.one-choice-by-default", PLAIN, "no choices"): (of_answer(choices=[]), "not observed"),
    ("choices.streamed-as-plain", SEVERAL, "no seed"): (of_request(seed=None), "not exercised"),
    ("choices.seed-repeats", "choices/seeded-choices", "no seed"): (of_request(seed=None), "not exercised"),
    ("answer.content-is-text", PLAIN, "empty"): (of_message(content=""), "pass"),
    ("answer.content-is-text", PLAIN, "null with a call"): (both(call(), of_message(content=None)), "pass"),
    ("answer.content-is-text", PLAIN, "null with no call"): (of_message(content=None, tool_calls=[]), "finding"),
    ("answer.content-is-text", PLAIN, "null with reasoning_content"): (
        of_message(content=None, reasoning_content="x"),
        "pass",
    ),
    ("answer.content-is-text", PLAIN, "null with reasoning"): (of_message(content=None, reasoning="x"), "pass"),
    ("answer.content-is-text", PLAIN, "a list"): (of_message(content=[]), "finding"),
    ("answer.content-is-text", PLAIN, "no message"): (of_choice(message=None), "finding"),
    ("answer.id-given", PLAIN, "a number"): (of_answer(id=7), "finding"),
    ("answer.created-now", PLAIN, "true"): (of_answer(created=True), "finding"),
    ("answer.created-now", PLAIN, "a fraction"): (of_answer(created=1.5), "finding"),
    ("answer.model-echoed", PLAIN, "absent"): (of_answer(model=None), "finding"),
    ("answer.tool-calls-well-formed", PLAIN, "well formed"): (call(), "pass"),
    ("answer.tool-calls-well-formed", PLAIN, "a string"): (of_message(tool_calls="x"), "finding"),
    ("answer.tool-calls-well-formed", PLAIN, "an object"): (of_message(tool_calls={}), "finding"),
    ("answer.tool-calls-well-formed", PLAIN, "an item that is not an object"): (of_message(tool_calls=[7]), "finding"),
    ("answer.tool-calls-well-formed", PLAIN, "no function"): (call(function=None), "finding"),
    ("answer.tool-calls-well-formed", PLAIN, "id empty"): (call(id=""), "finding"),
    ("answer.tool-calls-well-formed", PLAIN, "id a number"): (call(id=1), "finding"),
    ("answer.tool-calls-well-formed", PLAIN, "another type"): (call(type="tool"), "finding"),
    ("answer.tool-calls-well-formed", PLAIN, "name empty"): (function(name=""), "finding"),
    ("answer.tool-calls-well-formed", PLAIN, "name a number"): (function(name=1), "finding"),
    ("answer.tool-calls-well-formed", PLAIN, "arguments an object"): (function(arguments={}), "finding"),
    ("answer.tool-calls-well-formed", PLAIN, "arguments empty"): (function(arguments=""), "finding"),
    ("answer.tool-calls-well-formed", PLAIN, "arguments a list"): (function(arguments="[1]"), "pass"),
    ("answer.usage-present", PLAIN, "null"): (of_answer(usage=None), "finding"),
    ("answer.fits-schema", PLAIN, "a negative duration"): (of_answer(prefill_time=-1), "pass"),
    ("answer.timings-non-negative", PLAIN, "negative"): (of_answer(prefill_time=-1), "finding"),
    ("answer.timings-non-negative", PLAIN, "zero"): (of_answer(prefill_time=0), "pass"),
    ("answer.timings-non-negative", PLAIN, "null"): (of_answer(prefill_time=None), "pass"),
    ("answer.timings-non-negative", PLAIN, "true"): (of_answer(prefill_time=True), "finding"),
    ("answer.timings-non-negative", PLAIN, "a string"): (of_answer(prefill_time="1"), "finding"),
    ("answer.timings-non-negative", PLAIN, "zeros"): (of_answer(decode_time_arr=[0, 0.0]), "pass"),
    ("answer.timings-non-negative", PLAIN, "not a list"): (of_answer(decode_time_arr=7), "finding"),
    ("answer.timings-non-negative", PLAIN, "an empty list"): (of_usage(batch_size=[]), "pass"),
    ("answer.timings-non-negative", PLAIN, "a wrong item"): (of_usage(batch_size=[1, None]), "finding"),
    ("answer.timings-non-negative", PLAIN, "negative waits"): (of_usage(queue_wait_time=[0, -1]), "finding"),
    ("finish.reason-known", PLAIN, "tool_calls"): (of_choice(finish_reason="tool_calls"), "pass"),
    ("finish.reason-known", PLAIN, "null"): (of_choice(finish_reason=None), "finding"),
    ("finish.length-when-cut", CUT, "tool_calls"): (of_choice(finish_reason="tool_calls"), "finding"),
    ("finish.length-when-cut", CUT, "500"): (status(500), "not observed"),
    ("finish.length-only-at-limit", CUT, "limit 64"): (
        both(of_request(max_tokens=64), of_usage(completion_tokens=63)),
        "finding",
    ),
    ("finish.length-only-at-limit", CUT, "limit 65"): (
        both(of_request(max_tokens=65), of_usage(completion_tokens=64)),
        "not exercised",
    ),
    ("finish.length-only-at-limit", CUT, "limit 7.0"): (of_request(max_tokens=7.0), "pass"),
    ("finish.length-only-at-limit", CUT, "limit true"): (of_request(max_tokens=True), "not exercised"),
    ("finish.length-only-at-limit", CUT, "limit 7.5"): (of_request(max_tokens=7.5), "not exercised"),
    ("finish.length-only-at-limit", CUT, "limit a string"): (of_request(max_tokens="7"), "not exercised"),
    ("finish.length-only-at-limit", CUT, "no limit"): (of_request(max_tokens=None), "not exercised"),
    ("finish.length-only-at-limit", CUT, "count true"): (of_usage(completion_tokens=True), "not exercised"),
    ("finish.length-only-at-limit", CUT, "no usage"): (of_answer(usage=None), "not exercised"),
    ("finish.length-only-at-limit", CUT, "stop"): (of_choice(finish_reason="stop"), "not exercised"),
    ("finish.stop-when-stopped", "stop-text/stopped", "500"): (status(500), "not observed"),
    ("finish.stop-when-stopped", "stop-text/stopped", "another text up to the limit"): (
        ending("length", "x", 48),
        "not exercised",
    ),
    ("finish.stop-when-stopped", "stop-text/stopped", "no text up to the limit"): (
        ending("length", "", 48),
        "not exercised",
    ),
    ("finish.stop-when-stopped", "stop-text/stopped", "not yet at the limit"): (ending("length", "x", 47), "finding"),
    ("finish.stop-when-stopped", "stop-text/stopped", "past its stop text"): (
        ending("length", "{stop}x", 48),
        "finding",
    ),
    ("finish.stop-when-stopped", "stop-text/stopped", "another reason"): (ending("eos", "x", 48), "finding"),
    ("finish.streamed-as-plain", STREAM, "another text"): (other_text, "not exercised"),
    ("http.get-refused", "get-chat/main", "404"): (status(404), "pass"),
    ("http.get-refused", "get-chat/main", "400"): (status(400), "finding"),
    ("http.get-refused", "get-chat/main", "500"): (status(500), "finding"),
    ("http.unknown-path-is-404", "unknown-path/main", "400"): (status(400), "finding"),
    ("http.allow-header", "get-chat/main", "several"): (lambda each: with_header(each, "allow", "GET,POST"), "pass"),
    ("http.allow-header", "get-chat/main", "another"): (
        lambda each: with_header(each, "allow", "GET, POSTS"),
        "finding",
    ),
    ("http.models-listed", "models/main", "404"): (status(404), "finding"),
    ("http.models-listed", "models/main", "not a list"): (lambda each: with_json(each, {"data": "x"}), "finding"),
    ("http.answers-differ-in-id", "greedy/plain-again", "no id"): (of_answer(id=None), "not exercised"),
    ("http.answers-differ-in-id", PLAIN, "no id at first"): (of_answer(id=None), "not exercised"),
    ("errors.client-fault-is-4xx", REFUSED, "499"): (status(499), "pass"),
    ("errors.status-as-documented", REFUSED, "400"): (status(400), "finding"),
    ("errors.status-as-documented", REFUSED, "499"): (status(499), "finding"),
    ("errors.status-as-documented", REFUSED, "401 without authentication"): (status(401), "finding"),
    ("errors.status-as-documented", REFUSED, "500, reported by another check"): (status(500), "pass"),
    ("errors.body-is-json-object", REFUSED, "a list"): (lambda each: with_json(each, []), "finding"),
    ("errors.json-content-type", REFUSED, "problem details"): (
        media_type("application/problem+json; charset=utf-8"),
        "pass",
    ),
    ("errors.json-content-type", REFUSED, "a suffix without a type"): (media_type("application/+json"), "finding"),
    ("errors.json-content-type", REFUSED, "lines of JSON"): (media_type("application/jsonl"), "finding"),
    ("errors.before-the-stream", REFUSED, "400"): (status(400), "pass"),
    ("errors.before-the-stream", REFUSED, "499"): (status(499), "pass"),
    ("errors.before-the-stream", REFUSED, "500"): (status(500), "finding"),
    ("errors.before-the-stream", REFUSED, "302"): (status(302), "finding"),
    ("errors.before-the-stream", REFUSED, "200"): (status(200), "finding"),
    ("errors.before-the-stream", REFUSED, "events"): (media_type("text/event-stream"), "finding"),
    ("errors.malformed-json-refused", "malformed-text/main", "200 with an error"): (status(200), "finding"),
    ("errors.malformed-json-refused", "malformed-text/main", "an answer"): (accept, "finding"),
    ("errors.server-goes-on", "goes-on-after-errors/good", "cut"): (cut, "finding"),
    ("disconnect.server-goes-on", "disconnect/after", "an error inside"): (of_answer(error="x"), "finding"),
    ("parallel.all-answered", "parallel-streams/one", "no reason"): (
        lambda each: edit_choices(each, lambda choice: choice.update(finish_reason=None)),
        "finding",
    ),
    ("stream.accepted", STREAM, "201"): (status(201), "finding"),
    ("stream.accepted", STREAM, "cut"): (cut, "finding"),
    ("stream.accepted", STREAM, "another media type with events"): (media_type("text/plain"), "pass"),
    ("stream.utf8", STREAM, "an unpaired surrogate"): (
        rewritten(lambda chunk: json.dumps({**chunk, "x": "\ud800"}).encode()),
        "finding",
    ),
    ("stream.utf8", STREAM, "a key twice"): (
        rewritten(lambda chunk: dump(chunk)[:-1] + b',"id":"x"}'),
        "pass",
    ),
    ("stream.arrives-bit-by-bit", LONG, "at once"): (lasting(2.0, 2.0), "finding"),
    ("stream.arrives-bit-by-bit", LONG, "the first event early"): (lasting(2.0, 0.1), "finding"),
    ("stream.arrives-bit-by-bit", LONG, "late and one by one"): (spread(2.0, 1.9), "pass"),
    ("stream.arrives-bit-by-bit", LONG, "faster than any server"): (spread(2.0, 1.99), "finding"),
    ("stream.arrives-bit-by-bit", LONG, "a second"): (lasting(1.0, 1.0), "finding"),
    ("stream.arrives-bit-by-bit", LONG, "less than a second"): (lasting(0.99, 0.99), "not exercised"),
    ("stream.arrives-bit-by-bit", LONG, "63 events with text"): (lasting(2.0, 2.0, events=64), "not exercised"),
    ("stream.id-constant", STREAM, "empty throughout"): (of_chunks(id=""), "finding"),
    ("stream.id-constant", STREAM, "a number throughout"): (of_chunks(id=7), "finding"),
    ("stream.id-constant", STREAM, "absent throughout"): (of_chunks(id=None), "finding"),
    ("stream.id-constant", STREAM, "another throughout"): (of_chunks(id="x"), "pass"),
    ("stream.created-constant", STREAM, "another throughout"): (of_chunks(created=1), "pass"),
    ("stream.one-choice-by-default", STREAM, "n null"): (of_request(n=None), "pass"),
    ("stream.one-choice-by-default", STREAM, "n 2"): (of_request(n=2), "not exercised"),
    ("stream.one-choice-by-default", STREAM, "index 1 alone"): (
        lambda each: edit_choices(each, lambda choice: choice.update(index=1)),
        "finding",
    ),
    ("stream.finish-reason-known", STREAM, "absent"): (
        lambda each: edit_choices(each, lambda choice: choice.pop("finish_reason"), FIRST),
        "pass",
    ),
    ("stream.finish-reason-known", STREAM, "tool_calls"): (
        lambda each: edit_choices(each, lambda choice: choice.update(finish_reason="tool_calls"), LAST),
        "pass",
    ),
    ("stream.full-text-is-whole", STREAM, "whole"): (
        lambda each: edit_chunks(each, lambda chunk: chunk.update(full_text=each.content()), LAST),
        "pass",
    ),
    ("stream.full-text-is-whole", SEVERAL, "the text of each choice"): (full_texts(), "pass"),
    ("stream.full-text-is-whole", SEVERAL, "the text of the first choice"): (full_texts(of=0), "finding"),
    ("stream.full-text-is-whole", STREAM, "no text"): (
        lambda each: edit_chunks(each, lambda chunk: chunk.update(choices=[], full_text="x")),
        "pass",
    ),
    ("stream.text-as-plain", "greedy/plain-again", "another text"): (other_text, "not exercised"),
    ("stream.text-as-plain", STREAM, "another text"): (other_text, "not exercised"),
    ("stop.not-in-output", "stop-text/stopped", "empty"): (of_message(content=""), "pass"),
    ("stop.not-in-output", "stop-text/stopped", "null"): (of_message(content=None), "pass"),
    ("usage.counts-are-integers", PLAIN, "zero"): (of_usage(prompt_tokens=0), "pass"),
    ("usage.counts-are-integers", PLAIN, "negative"): (of_usage(prompt_tokens=-1), "finding"),
    ("usage.counts-are-integers", PLAIN, "true"): (of_usage(prompt_tokens=True), "finding"),
    ("usage.counts-are-integers", PLAIN, "a fraction"): (of_usage(prompt_tokens=1.0), "finding"),
    ("usage.total-is-sum", PLAIN, "not integers"): (of_usage(prompt_tokens="1"), "not observed"),
    ("usage.total-is-sum", PLAIN, "no usage"): (of_answer(usage=None), "not exercised"),
    ("usage.prompt-counted", PLAIN, "one"): (of_usage(prompt_tokens=1), "pass"),
    ("usage.completion-counted", PLAIN, "one"): (of_usage(completion_tokens=1), "pass"),
    ("usage.completion-counted", PLAIN, "none, no text"): (
        both(of_message(content=""), of_usage(completion_tokens=0)),
        "not exercised",
    ),
    ("usage.completion-within-limit", PLAIN, "the limit"): (of_usage(completion_tokens=48), "pass"),
    ("usage.completion-within-limit", PLAIN, "two of n"): (
        both(of_request(n=2), of_usage(completion_tokens=96)),
        "pass",
    ),
    ("usage.completion-within-limit", PLAIN, "more than two of n"): (
        both(of_request(n=2), of_usage(completion_tokens=97)),
        "finding",
    ),
    ("usage.completion-within-limit", PLAIN, "three of best_of"): (
        both(of_request(best_of=3), of_usage(completion_tokens=144)),
        "pass",
    ),
    ("usage.streamed-as-plain", STREAM, "another text"): (other_text, "not exercised"),
    ("sampling.eos-ignored", CUT, "more than the limit"): (of_usage(completion_tokens=8), "pass"),
    ("sampling.eos-ignored", CUT, "500"): (status(500), "not observed"),
    ("usage.completion-reaches-limit", CUT, "500"): (status(500), "not observed"),
}

KEY_CASES: dict[tuple[str, str], tuple[Callable[[Exchange], Exchange], str]] = {
    ("auth.refused-before-validation", "401 with another body"): (lambda each: refuse(each, 401), "pass"),
    ("auth.refused-before-validation", "403 with another body"): (lambda each: refuse(each, 403), "pass"),
    ("auth.refused-before-validation", "402 with another body"): (lambda each: refuse(each, 402), "finding"),
    ("auth.refused-before-validation", "200 with the code for no key"): (both(error_code(702), status(200)), "pass"),
    ("auth.refused-before-validation", "400 with the code for a wrong key"): (
        both(error_code(801), status(400)),
        "pass",
    ),
    ("auth.refused-before-validation", "400 with another code"): (both(error_code(9999), status(400)), "finding"),
    ("auth.refused-before-validation", "401 with another code"): (both(error_code(9999), status(401)), "pass"),
}

USAGE_REQUESTED = ("usage-on-request", "streamed")
USAGE_CASES: dict[tuple[str, str], tuple[Callable[[Exchange], Exchange], str]] = {
    ("stream.usage-on-request", "usage null"): (of_chunks(LAST, usage=None), "finding"),
    ("stream.usage-on-request", "usage and choices"): (of_chunks(LAST, choices=[{"index": 0, "delta": {}}]), "finding"),
    ("stream.usage-on-request", "choices null"): (of_chunks(LAST, choices=None), "finding"),
    ("stream.usage-on-request", "not asked for"): (
        of_request(stream_options={"include_usage": False}),
        "not exercised",
    ),
    ("stream.usage-on-request", "options null"): (of_request(stream_options=None), "not exercised"),
    ("stream.usage-null-elsewhere", "usage in the first"): (of_chunks(FIRST, usage={"prompt_tokens": 1}), "finding"),
    ("stream.usage-null-elsewhere", "not asked for"): (of_request(stream_options=None), "not exercised"),
    ("stream.usage-only-on-request", "asked for"): (unchanged, "not exercised"),
    ("stream.usage-only-on-request", "not asked for"): (of_request(stream_options=None), "finding"),
}


def outcome(good: Good, check: str, key: tuple[str, str], changed: Exchange) -> str:
    """Judge one changed exchange with a check and return the kind of result."""
    assertions = [
        assertion
        for assertion in good.plan.assertions
        if assertion.check.id == check
        and assertion.scenario.id == key[0]
        and key[1] in (assertion.check.over or (assertion.step.name,))
    ]
    (judgement,) = good.judge({key: changed}, assertions[:1])
    assert judgement.error is None, judgement.error
    if judgement.unobserved is not None:
        return "not observed" if judgement.applies else "not exercised"
    return "finding" if judgement.findings else "pass"


@pytest.mark.parametrize("case", CASES, ids=" - ".join)
def test_checks_distinguish_similar_exchanges(read_good: Callable[[str], Good], case: tuple[str, str, str]) -> None:
    check, exchange, _ = case
    change, expected = CASES[case]
    scenario, _, step = exchange.partition("/")
    good = read_good("mindie-2.3")
    assert expected == outcome(good, check, (scenario, step), change(good.exchanges[scenario, step]))


@pytest.mark.parametrize("case", KEY_CASES, ids=" - ".join)
def test_key_checks_distinguish_similar_refusals(read_good: Callable[[str], Good], case: tuple[str, str]) -> None:
    change, expected = KEY_CASES[case]
    good, key = read_good("siliconstorm"), ("key-missing-invalid", "main")
    assert expected == outcome(good, case[0], key, change(good.exchanges[key]))


@pytest.mark.parametrize("case", USAGE_CASES, ids=" - ".join)
def test_usage_checks_distinguish_similar_streams(read_good: Callable[[str], Good], case: tuple[str, str]) -> None:
    change, expected = USAGE_CASES[case]
    good = read_good("ovms-2024")
    assert expected == outcome(good, case[0], USAGE_REQUESTED, change(good.exchanges[USAGE_REQUESTED]))


def test_prompts_of_different_length_with_the_same_count_are_reported(read_good: Callable[[str], Good]) -> None:
    good = read_good("mindie-2.3")
    short = (good.exchanges["prompts", "short"].usage or {})["prompt_tokens"]
    for count, expected in ((short, "finding"), (short + 1, "pass"), (short - 1, "finding")):
        changed = of_usage(prompt_tokens=count)(good.exchanges["prompts", "long"])
        assert expected == outcome(good, "usage.prompt-grows", ("prompts", "long"), changed)
