"""Where each judge draws its line: exchanges on both sides of it, changed by one small edit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from conformance.proof.editing.responses import accept, cut, dump, refuse, with_header, with_json
from conformance.proof.editing.streams import FIRST, LAST, edit_choices, edit_chunks
from conformance.tests.judge.exchange_edits import both, call, coded, ending, function, lasting, of_answer, of_choice, of_chunks, of_message, of_request, of_usage, rewritten, shouted, spread, status, typed, unchanged

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exchange import Exchange
    from conformance.tests.conftest import Good

PLAIN, STREAM, CUT = "greedy/plain", "greedy/streamed", "cut-at-7/plain"
LONG = "long-stream/main"
REFUSED = "refused-stream/main"

# check, exchange, what is changed -> found, fits, idle (the requirement does not apply) or unseen
LINES: dict[tuple[str, str, str], tuple[Callable[[Exchange], Exchange], str]] = {
    ("answer.accepted", PLAIN, "201"): (status(201), "found"),
    ("answer.accepted", PLAIN, "cut"): (cut, "found"),
    ("answer.no-error-inside", PLAIN, "a null error"): (of_answer(error=None), "fits"),
    ("answer.no-error-inside", PLAIN, "an error beside choices"): (of_answer(error={"message": "x"}), "found"),
    ("answer.no-error-inside", PLAIN, "another status"): (status(500), "unseen"),
    ("answer.indices-from-zero", PLAIN, "true"): (of_choice(index=True), "found"),
    ("answer.indices-from-zero", PLAIN, "a text"): (of_choice(index="0"), "found"),
    ("answer.one-choice-by-default", PLAIN, "n null"): (of_request(n=None), "fits"),
    ("answer.one-choice-by-default", PLAIN, "n 2"): (of_request(n=2), "idle"),
    ("answer.one-choice-by-default", PLAIN, "no choices"): (of_answer(choices=[]), "unseen"),
    ("answer.content-is-text", PLAIN, "empty"): (of_message(content=""), "fits"),
    ("answer.content-is-text", PLAIN, "null with a call"): (both(call(), of_message(content=None)), "fits"),
    ("answer.content-is-text", PLAIN, "null with no call"): (of_message(content=None, tool_calls=[]), "found"),
    ("answer.content-is-text", PLAIN, "null with a thought"): (of_message(content=None, reasoning_content="x"), "fits"),
    ("answer.content-is-text", PLAIN, "null with reasoning"): (of_message(content=None, reasoning="x"), "fits"),
    ("answer.content-is-text", PLAIN, "a list"): (of_message(content=[]), "found"),
    ("answer.content-is-text", PLAIN, "no message"): (of_choice(message=None), "found"),
    ("answer.id-given", PLAIN, "a number"): (of_answer(id=7), "found"),
    ("answer.created-now", PLAIN, "true"): (of_answer(created=True), "found"),
    ("answer.created-now", PLAIN, "a fraction"): (of_answer(created=1.5), "found"),
    ("answer.model-echoed", PLAIN, "absent"): (of_answer(model=None), "found"),
    ("answer.tool-calls-well-formed", PLAIN, "well formed"): (call(), "fits"),
    ("answer.tool-calls-well-formed", PLAIN, "a text"): (of_message(tool_calls="x"), "found"),
    ("answer.tool-calls-well-formed", PLAIN, "an object"): (of_message(tool_calls={}), "found"),
    ("answer.tool-calls-well-formed", PLAIN, "no object inside"): (of_message(tool_calls=[7]), "found"),
    ("answer.tool-calls-well-formed", PLAIN, "no function"): (call(function=None), "found"),
    ("answer.tool-calls-well-formed", PLAIN, "id empty"): (call(id=""), "found"),
    ("answer.tool-calls-well-formed", PLAIN, "id a number"): (call(id=1), "found"),
    ("answer.tool-calls-well-formed", PLAIN, "another type"): (call(type="tool"), "found"),
    ("answer.tool-calls-well-formed", PLAIN, "name empty"): (function(name=""), "found"),
    ("answer.tool-calls-well-formed", PLAIN, "name a number"): (function(name=1), "found"),
    ("answer.tool-calls-well-formed", PLAIN, "arguments an object"): (function(arguments={}), "found"),
    ("answer.tool-calls-well-formed", PLAIN, "arguments empty"): (function(arguments=""), "found"),
    ("answer.tool-calls-well-formed", PLAIN, "arguments a list"): (function(arguments="[1]"), "fits"),
    ("answer.usage-present", PLAIN, "null"): (of_answer(usage=None), "found"),
    ("answer.timings-non-negative", PLAIN, "zero"): (of_answer(prefill_time=0), "fits"),
    ("answer.timings-non-negative", PLAIN, "null"): (of_answer(prefill_time=None), "fits"),
    ("answer.timings-non-negative", PLAIN, "true"): (of_answer(prefill_time=True), "found"),
    ("answer.timings-non-negative", PLAIN, "a text"): (of_answer(prefill_time="1"), "found"),
    ("answer.timings-non-negative", PLAIN, "zeros"): (of_answer(decode_time_arr=[0, 0.0]), "fits"),
    ("answer.timings-non-negative", PLAIN, "no list"): (of_answer(decode_time_arr=7), "found"),
    ("answer.timings-non-negative", PLAIN, "an empty list"): (of_usage(batch_size=[]), "fits"),
    ("answer.timings-non-negative", PLAIN, "a wrong item"): (of_usage(batch_size=[1, None]), "found"),
    ("answer.timings-non-negative", PLAIN, "negative waits"): (of_usage(queue_wait_time=[0, -1]), "found"),
    ("finish.reason-known", PLAIN, "tool_calls"): (of_choice(finish_reason="tool_calls"), "fits"),
    ("finish.reason-known", PLAIN, "null"): (of_choice(finish_reason=None), "found"),
    ("finish.length-when-cut", CUT, "tool_calls"): (of_choice(finish_reason="tool_calls"), "found"),
    ("finish.length-when-cut", CUT, "500"): (status(500), "unseen"),
    ("finish.length-only-at-limit", CUT, "limit 64"): (
        both(of_request(max_tokens=64), of_usage(completion_tokens=63)),
        "found",
    ),
    ("finish.length-only-at-limit", CUT, "limit 65"): (
        both(of_request(max_tokens=65), of_usage(completion_tokens=64)),
        "idle",
    ),
    ("finish.length-only-at-limit", CUT, "limit 7.0"): (of_request(max_tokens=7.0), "fits"),
    ("finish.length-only-at-limit", CUT, "limit true"): (of_request(max_tokens=True), "idle"),
    ("finish.length-only-at-limit", CUT, "limit 7.5"): (of_request(max_tokens=7.5), "idle"),
    ("finish.length-only-at-limit", CUT, "limit a text"): (of_request(max_tokens="7"), "idle"),
    ("finish.length-only-at-limit", CUT, "no limit"): (of_request(max_tokens=None), "idle"),
    ("finish.length-only-at-limit", CUT, "count true"): (of_usage(completion_tokens=True), "idle"),
    ("finish.length-only-at-limit", CUT, "no usage"): (of_answer(usage=None), "idle"),
    ("finish.length-only-at-limit", CUT, "stop"): (of_choice(finish_reason="stop"), "idle"),
    ("finish.stop-when-stopped", "stop-text/stopped", "500"): (status(500), "unseen"),
    ("finish.stop-when-stopped", "stop-text/stopped", "rambling to the limit"): (ending("length", "x", 48), "idle"),
    ("finish.stop-when-stopped", "stop-text/stopped", "rambling, no text"): (ending("length", "", 48), "idle"),
    ("finish.stop-when-stopped", "stop-text/stopped", "not yet at the limit"): (ending("length", "x", 47), "found"),
    ("finish.stop-when-stopped", "stop-text/stopped", "past its stop text"): (ending("length", "{stop}x", 48), "found"),
    ("finish.stop-when-stopped", "stop-text/stopped", "another reason"): (ending("eos", "x", 48), "found"),
    ("finish.streamed-as-plain", STREAM, "another text"): (shouted, "idle"),
    ("http.get-refused", "get-chat/main", "404"): (status(404), "fits"),
    ("http.get-refused", "get-chat/main", "400"): (status(400), "found"),
    ("http.get-refused", "get-chat/main", "500"): (status(500), "found"),
    ("http.unknown-path-is-404", "unknown-path/main", "400"): (status(400), "found"),
    ("http.allow-header", "get-chat/main", "several"): (lambda each: with_header(each, "allow", "GET,POST"), "fits"),
    ("http.allow-header", "get-chat/main", "another"): (lambda each: with_header(each, "allow", "GET, POSTS"), "found"),
    ("http.models-listed", "models/main", "404"): (status(404), "found"),
    ("http.models-listed", "models/main", "no list"): (lambda each: with_json(each, {"data": "x"}), "found"),
    ("http.answers-differ-in-id", "greedy/plain-again", "no id"): (of_answer(id=None), "idle"),
    ("http.answers-differ-in-id", PLAIN, "no id at first"): (of_answer(id=None), "idle"),
    ("errors.client-fault-is-4xx", REFUSED, "499"): (status(499), "fits"),
    ("errors.status-as-documented", REFUSED, "400"): (status(400), "found"),
    ("errors.status-as-documented", REFUSED, "499"): (status(499), "found"),
    ("errors.status-as-documented", REFUSED, "401 where no key is asked for"): (status(401), "found"),
    ("errors.status-as-documented", REFUSED, "500, which another check judges"): (status(500), "fits"),
    ("errors.body-is-json-object", REFUSED, "a list"): (lambda each: with_json(each, []), "found"),
    ("errors.json-content-type", REFUSED, "problem details"): (
        typed("application/problem+json; charset=utf-8"),
        "fits",
    ),
    ("errors.json-content-type", REFUSED, "a suffix of nothing"): (typed("application/+json"), "found"),
    ("errors.json-content-type", REFUSED, "lines of JSON"): (typed("application/jsonl"), "found"),
    ("errors.before-the-stream", REFUSED, "400"): (status(400), "fits"),
    ("errors.before-the-stream", REFUSED, "499"): (status(499), "fits"),
    ("errors.before-the-stream", REFUSED, "500"): (status(500), "found"),
    ("errors.before-the-stream", REFUSED, "302"): (status(302), "found"),
    ("errors.before-the-stream", REFUSED, "200"): (status(200), "found"),
    ("errors.before-the-stream", REFUSED, "events"): (typed("text/event-stream"), "found"),
    ("errors.malformed-json-refused", "malformed-text/main", "200 with an error"): (status(200), "fits"),
    ("errors.malformed-json-refused", "malformed-text/main", "an answer"): (accept, "found"),
    ("errors.server-goes-on", "goes-on-after-errors/good", "cut"): (cut, "found"),
    ("disconnect.server-goes-on", "disconnect/after", "an error inside"): (of_answer(error="x"), "found"),
    ("parallel.all-answered", "parallel-streams/one", "no reason"): (
        lambda each: edit_choices(each, lambda choice: choice.update(finish_reason=None)),
        "found",
    ),
    ("stream.accepted", STREAM, "201"): (status(201), "found"),
    ("stream.accepted", STREAM, "cut"): (cut, "found"),
    ("stream.accepted", STREAM, "another type, events all the same"): (typed("text/plain"), "fits"),
    ("stream.utf8", STREAM, "half a pair"): (
        rewritten(lambda chunk: json.dumps({**chunk, "x": "\ud800"}).encode()),
        "found",
    ),
    ("stream.utf8", STREAM, "a key twice"): (
        rewritten(lambda chunk: dump(chunk)[:-1] + b',"id":"x"}'),
        "fits",
    ),
    ("stream.arrives-bit-by-bit", LONG, "at once"): (lasting(2.0, 2.0), "found"),
    ("stream.arrives-bit-by-bit", LONG, "the first event soon"): (lasting(2.0, 0.1), "found"),
    ("stream.arrives-bit-by-bit", LONG, "late and one by one"): (spread(2.0, 1.9), "fits"),
    ("stream.arrives-bit-by-bit", LONG, "faster than any server"): (spread(2.0, 1.99), "found"),
    ("stream.arrives-bit-by-bit", LONG, "a second"): (lasting(1.0, 1.0), "found"),
    ("stream.arrives-bit-by-bit", LONG, "less than a second"): (lasting(0.99, 0.99), "idle"),
    ("stream.arrives-bit-by-bit", LONG, "63 texts"): (lasting(2.0, 2.0, events=64), "idle"),
    ("stream.id-constant", STREAM, "empty throughout"): (of_chunks(id=""), "found"),
    ("stream.id-constant", STREAM, "a number throughout"): (of_chunks(id=7), "found"),
    ("stream.id-constant", STREAM, "absent throughout"): (of_chunks(id=None), "found"),
    ("stream.id-constant", STREAM, "another throughout"): (of_chunks(id="x"), "fits"),
    ("stream.created-constant", STREAM, "another throughout"): (of_chunks(created=1), "fits"),
    ("stream.one-choice-by-default", STREAM, "n null"): (of_request(n=None), "fits"),
    ("stream.one-choice-by-default", STREAM, "n 2"): (of_request(n=2), "idle"),
    ("stream.one-choice-by-default", STREAM, "index 1 alone"): (
        lambda each: edit_choices(each, lambda choice: choice.update(index=1)),
        "found",
    ),
    ("stream.finish-reason-known", STREAM, "absent"): (
        lambda each: edit_choices(each, lambda choice: choice.pop("finish_reason"), FIRST),
        "fits",
    ),
    ("stream.finish-reason-known", STREAM, "tool_calls"): (
        lambda each: edit_choices(each, lambda choice: choice.update(finish_reason="tool_calls"), LAST),
        "fits",
    ),
    ("stream.full-text-is-whole", STREAM, "whole"): (
        lambda each: edit_chunks(each, lambda chunk: chunk.update(full_text=each.content()), LAST),
        "fits",
    ),
    ("stream.full-text-is-whole", STREAM, "no text"): (
        lambda each: edit_chunks(each, lambda chunk: chunk.update(choices=[], full_text="x")),
        "fits",
    ),
    ("stream.text-as-plain", "greedy/plain-again", "another text"): (shouted, "idle"),
    ("stream.text-as-plain", STREAM, "another text"): (shouted, "idle"),
    ("stop.not-in-output", "stop-text/stopped", "empty"): (of_message(content=""), "fits"),
    ("stop.not-in-output", "stop-text/stopped", "null"): (of_message(content=None), "fits"),
    ("usage.counts-are-integers", PLAIN, "zero"): (of_usage(prompt_tokens=0), "fits"),
    ("usage.counts-are-integers", PLAIN, "negative"): (of_usage(prompt_tokens=-1), "found"),
    ("usage.counts-are-integers", PLAIN, "true"): (of_usage(prompt_tokens=True), "found"),
    ("usage.counts-are-integers", PLAIN, "a fraction"): (of_usage(prompt_tokens=1.0), "found"),
    ("usage.total-is-sum", PLAIN, "not integers"): (of_usage(prompt_tokens="1"), "unseen"),
    ("usage.total-is-sum", PLAIN, "no usage"): (of_answer(usage=None), "idle"),
    ("usage.prompt-counted", PLAIN, "one"): (of_usage(prompt_tokens=1), "fits"),
    ("usage.completion-counted", PLAIN, "one"): (of_usage(completion_tokens=1), "fits"),
    ("usage.completion-counted", PLAIN, "none, no text"): (
        both(of_message(content=""), of_usage(completion_tokens=0)),
        "idle",
    ),
    ("usage.completion-within-limit", PLAIN, "the limit"): (of_usage(completion_tokens=48), "fits"),
    ("usage.completion-within-limit", PLAIN, "two of n"): (
        both(of_request(n=2), of_usage(completion_tokens=96)),
        "fits",
    ),
    ("usage.completion-within-limit", PLAIN, "more than two of n"): (
        both(of_request(n=2), of_usage(completion_tokens=97)),
        "found",
    ),
    ("usage.completion-within-limit", PLAIN, "three of best_of"): (
        both(of_request(best_of=3), of_usage(completion_tokens=144)),
        "fits",
    ),
    ("usage.streamed-as-plain", STREAM, "another text"): (shouted, "idle"),
    ("sampling.eos-ignored", CUT, "more than the limit"): (of_usage(completion_tokens=8), "fits"),
    ("sampling.eos-ignored", CUT, "500"): (status(500), "unseen"),
    ("usage.completion-reaches-limit", CUT, "500"): (status(500), "unseen"),
}

KEYS: dict[tuple[str, str], tuple[Callable[[Exchange], Exchange], str]] = {
    ("auth.refused-before-validation", "401 in other words"): (lambda each: refuse(each, 401), "fits"),
    ("auth.refused-before-validation", "403 in other words"): (lambda each: refuse(each, 403), "fits"),
    ("auth.refused-before-validation", "402 in other words"): (lambda each: refuse(each, 402), "found"),
    ("auth.refused-before-validation", "200 with the code for no key"): (both(coded(702), status(200)), "fits"),
    ("auth.refused-before-validation", "400 with the code for a wrong key"): (both(coded(801), status(400)), "fits"),
    ("auth.refused-before-validation", "400 with another code"): (both(coded(9999), status(400)), "found"),
    ("auth.refused-before-validation", "401 with another code"): (both(coded(9999), status(401)), "fits"),
}

ASKED = ("usage-on-request", "streamed")
USAGE: dict[tuple[str, str], tuple[Callable[[Exchange], Exchange], str]] = {
    ("stream.usage-on-request", "usage null"): (of_chunks(LAST, usage=None), "found"),
    ("stream.usage-on-request", "choices beside it"): (of_chunks(LAST, choices=[{"index": 0, "delta": {}}]), "found"),
    ("stream.usage-on-request", "choices null"): (of_chunks(LAST, choices=None), "found"),
    ("stream.usage-on-request", "not asked for"): (of_request(stream_options={"include_usage": False}), "idle"),
    ("stream.usage-on-request", "options null"): (of_request(stream_options=None), "idle"),
    ("stream.usage-null-elsewhere", "usage in the first"): (of_chunks(FIRST, usage={"prompt_tokens": 1}), "found"),
    ("stream.usage-null-elsewhere", "not asked for"): (of_request(stream_options=None), "idle"),
    ("stream.usage-only-on-request", "asked for"): (unchanged, "idle"),
    ("stream.usage-only-on-request", "not asked for"): (of_request(stream_options=None), "found"),
}


def outcome(good: Good, check: str, key: tuple[str, str], changed: Exchange) -> str:
    """What a check makes of one exchange that stands in for the recorded one."""
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
        return "unseen" if judgement.applies else "idle"
    return "found" if judgement.findings else "fits"


@pytest.mark.parametrize("line", LINES, ids=" - ".join)
def test_where_a_judge_draws_its_line(read_good: Callable[[str], Good], line: tuple[str, str, str]) -> None:
    check, place, _ = line
    change, expected = LINES[line]
    scenario, _, step = place.partition("/")
    good = read_good("mindie-2.3")
    assert expected == outcome(good, check, (scenario, step), change(good.exchanges[scenario, step]))


@pytest.mark.parametrize("line", KEYS, ids=" - ".join)
def test_where_the_judges_of_keys_draw_their_line(read_good: Callable[[str], Good], line: tuple[str, str]) -> None:
    change, expected = KEYS[line]
    good, key = read_good("siliconstorm"), ("key-missing-invalid", "main")
    assert expected == outcome(good, line[0], key, change(good.exchanges[key]))


@pytest.mark.parametrize("line", USAGE, ids=" - ".join)
def test_where_the_judges_of_usage_on_request_draw_their_line(
    read_good: Callable[[str], Good], line: tuple[str, str]
) -> None:
    change, expected = USAGE[line]
    good = read_good("ovms-2024")
    assert expected == outcome(good, line[0], ASKED, change(good.exchanges[ASKED]))


def test_prompts_of_different_length_with_the_same_count_are_noticed(read_good: Callable[[str], Good]) -> None:
    good = read_good("mindie-2.3")
    short = (good.exchanges["prompts", "short"].usage or {})["prompt_tokens"]
    for count, expected in ((short, "found"), (short + 1, "fits"), (short - 1, "found")):
        changed = of_usage(prompt_tokens=count)(good.exchanges["prompts", "long"])
        assert expected == outcome(good, "usage.prompt-grows", ("prompts", "long"), changed)
