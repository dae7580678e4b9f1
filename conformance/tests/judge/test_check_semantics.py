"""Test what single checks mean by accepted, refused, named, a traceback, a leak, and null."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from conformance.check import Finding
from conformance.judge.acceptance import is_accepted, is_refused
from conformance.judge.checks.errors.response import TRACES
from conformance.proof.editing.answers import edit_answer
from conformance.proof.editing.logprobs import alternative
from conformance.proof.editing.responses import accept, dump, refuse, with_body, with_header, with_status
from conformance.proof.editing.streams import edit_frames
from openapi.stream import sse

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exchange import Exchange
    from conformance.judge.judgement import Judgement
    from conformance.tests.conftest import Good


def judged(good: Good, identity: str, key: tuple[str, str], changed: Exchange) -> Judgement:
    """Judge one changed exchange with a check."""
    (assertion,) = [
        assertion
        for assertion in good.plan.assertions
        if assertion.check.id == identity and (assertion.scenario.id, assertion.step.name) == key
    ]
    (found,) = good.judge({key: changed}, [assertion])
    return found


ERROR_IN_PLACE_OF_TEXT = b'{"choices": [{"index": 0, "message": {"content": ""}}], "err_msg": "no"}'
ERROR_BESIDE_TEXT = b'{"choices": [{"index": 0, "message": {"content": "Hello!"}}], "err_msg": "no"}'


@pytest.mark.parametrize(
    ("body", "status", "accepted", "refused"),
    [
        (b"{}", 200, True, False),
        (b"", 204, True, False),
        (b'{"error": "no"}', 200, False, False),
        (b'{"error": null, "choices": []}', 200, True, False),
        (b'{"code": 9999, "result": null, "message": "no"}', 200, False, False),
        (b'{"object": "error", "message": "no"}', 200, False, False),
        (b'{"error": "no"}', 400, False, True),
        (b"", 400, False, True),
        (b"no", 422, False, True),
        (b"no", 499, False, True),
        (b"no", 500, False, False),
        (b"no", 307, False, False),
        (b"{}", 299, True, False),
        (b"{}", 300, False, False),
        (b'{"error": "no"}', 299, False, False),
        (b'{"error": "no"}', 300, False, False),
        (b'{"error": "no"}', 199, False, False),
        (ERROR_IN_PLACE_OF_TEXT, 200, False, False),
    ],
)
def test_what_counts_as_accepted_and_refused(
    mindie: Good, body: bytes, status: int, accepted: bool, refused: bool
) -> None:
    exchange = with_status(with_body(mindie.exchanges["conversation", "main"], body), status)
    assert (accepted, refused) == (is_accepted(exchange), is_refused(exchange, mindie.contract))


@pytest.mark.parametrize(
    ("body", "refused"), [(b'{"error": "no"}', False), (ERROR_IN_PLACE_OF_TEXT, True), (ERROR_BESIDE_TEXT, False)]
)
def test_a_status_of_200_is_a_refusal_only_in_the_form_that_the_document_allows(
    read_good: Callable[[str], Good], body: bytes, refused: bool
) -> None:
    good = read_good("mindie-vllm-1.0")
    exchange = with_body(good.exchanges["conversation", "main"], body)
    assert is_refused(exchange, good.contract) is refused


def test_a_missing_response_is_neither_accepted_nor_refused(mindie: Good) -> None:
    silent = replace(mindie.exchanges["conversation", "main"], response=None)
    assert (is_accepted(silent), is_refused(silent, mindie.contract)) == (False, False)


def test_a_stream_that_broke_off_counts_as_accepted(mindie: Good) -> None:
    stream = mindie.exchanges["greedy", "streamed"]
    broken = edit_frames(stream, lambda frames: [*frames[:2], frames[2].with_data(b'{"error": "no"}')])
    assert (is_accepted(broken), is_refused(broken, mindie.contract)) == (True, False)


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("n must be at least 1", True),
        ("'n' must be at least 1", True),
        ("body.n: must be at least 1", True),
        ("/n is too small", True),
        ("N must be at least 1", True),
        ("参数n超出范围", True),
        ("something is wrong", False),
        ("max_n must be at least 1", False),
        ("n_best must be at least 1", False),
        ("", False),
    ],
)
def test_a_parameter_is_named_only_as_a_whole_word(mindie: Good, text: str, is_named: bool) -> None:
    key = ("n-0-refused", "main")
    changed = edit_answer(mindie.exchanges[key], lambda body: body.update(error=text, error_type="x"))
    assert is_named == (not judged(mindie, "errors.names-the-parameter", key, changed).findings)


@pytest.mark.parametrize(("name", "is_named"), [("enable_thinking", True), ("thinking", False)])
def test_a_field_of_the_value_names_the_parameter_too(mindie: Good, name: str, is_named: bool) -> None:
    key = ("chat_template_kwargs-thinking-text-refused", "main")
    message = f"{name} must be true or false"
    changed = edit_answer(mindie.exchanges[key], lambda body: body.update(error=message, error_type="x"))
    assert is_named == (not judged(mindie, "errors.names-the-parameter", key, changed).findings)


@pytest.mark.parametrize(
    ("text", "is_trace"),
    [
        ('Traceback (most recent call last):\n  File "app.py", line 3, in f', True),
        ('  File "/srv/app.py", line 12', True),
        ("at com.acme.Server.handle(Server.java:42)", True),
        ("at handle (/srv/app.js:10:5)", True),
        ("goroutine 17 [running]:", True),
        ("thread 'main' panicked at src/main.rs:4:5", True),
        ("messages[0].content must not be empty", False),
        ("the JSON ends at line 1, column 7", False),
        ("expected a value at character 7 (see line 1)", False),
        ("temperature must be in [0.0, 2.0]", False),
        ("File too large", False),
    ],
)
def test_which_messages_count_as_a_traceback(text: str, is_trace: bool) -> None:
    assert is_trace == (TRACES.search(text) is not None)


@pytest.mark.parametrize(
    ("off", "fits"),
    [(timedelta(), True), (timedelta(minutes=-50), True), (timedelta(minutes=50), True), (timedelta(hours=2), False)],
)
def test_created_may_differ_by_less_than_an_hour(mindie: Good, off: timedelta, fits: bool) -> None:
    key = ("conversation", "main")
    exchange = mindie.exchanges[key]
    created = int((datetime.fromisoformat(exchange.started_at) + off).timestamp())
    changed = edit_answer(exchange, lambda answer: answer.update(created=created))
    assert fits == (not judged(mindie, "answer.created-now", key, changed).findings)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_an_unknown_path_may_be_refused_for_the_key(mindie: Good, status: int) -> None:
    key = ("unknown-path", "main")
    assert not judged(mindie, "http.unknown-path-is-404", key, with_status(mindie.exchanges[key], status)).findings


def test_a_404_for_get_needs_no_allow_header(mindie: Good) -> None:
    key = ("get-chat", "main")
    hidden = with_header(with_status(mindie.exchanges[key], 404), "allow", None)
    assert not judged(mindie, "http.get-refused", key, hidden).findings
    assert not judged(mindie, "http.allow-header", key, hidden).applies


def test_a_limit_reached_before_the_stop_string_is_not_reported(mindie: Good) -> None:
    key = ("stop-text", "stopped")

    def diverge(answer: dict[str, Any]) -> None:
        answer["choices"][0].update(finish_reason="length")
        answer["choices"][0]["message"].update(content="Certainly!")
        answer["usage"].update(completion_tokens=48, total_tokens=answer["usage"]["prompt_tokens"] + 48)

    changed = edit_answer(mindie.exchanges[key], diverge)
    assert not judged(mindie, "finish.stop-when-stopped", key, changed).applies
    early = edit_answer(changed, lambda answer: answer["usage"].update(completion_tokens=7))
    assert judged(mindie, "finish.stop-when-stopped", key, early).findings


@pytest.mark.takes_turns
def test_null_is_judged_by_the_dialect(good: Good) -> None:
    counted: Counter[str] = Counter()
    for assertion in good.of("parameters.null-as-documented"):
        key = (assertion.scenario.id, assertion.step.name)
        subject = assertion.scenario.subject
        assert subject is not None
        for change, kept in ((accept, "accept"), (refuse, "reject")):
            (judgement,) = good.judge({key: change(good.exchanges[key])}, [assertion])
            assert (kept == subject.expect) == (not judgement.findings)
        counted[subject.expect] += 1
    assert sum(counted.values())


def test_a_finding_in_a_chunk_names_the_number_of_its_event(mindie: Good) -> None:
    key = ("greedy", "streamed")

    def change(frames: list[Any]) -> list[Any]:
        frames[3] = frames[3].edited(lambda chunk: chunk.update(object="x"))
        return frames

    (finding,) = judged(mindie, "stream.object-named", key, edit_frames(mindie.exchanges[key], change)).findings
    assert finding == Finding("/events/3/object", "chat.completion.chunk", "'x'")


def test_the_content_type_of_a_stream_is_compared_without_parameters(mindie: Good) -> None:
    key = ("greedy", "streamed")
    for value, fits in (("Text/Event-Stream ; x=y", True), ("text/event-stream2", False), ("application/json", False)):
        changed = with_header(mindie.exchanges[key], "content-type", value)
        assert fits == (not judged(mindie, "stream.event-stream-type", key, changed).findings)


def test_a_body_with_several_defects_has_a_finding_for_each(mindie: Good) -> None:
    key = ("conversation", "main")
    answer = {"id": 1, "object": "x", "created": "now", "model": 7, "choices": [{"index": -1}]}
    findings = judged(mindie, "answer.fits-schema", key, with_body(mindie.exchanges[key], dump(answer))).findings
    assert {"/id", "/object", "/created", "/model"} <= {finding.where for finding in findings}


def test_one_defect_of_the_bytes_is_one_finding(mindie: Good) -> None:
    key = ("greedy", "streamed")
    exchange = mindie.exchanges[key]
    changed = edit_frames(exchange, lambda frames: [replace(frames[0], raw=b"{oops\n" + sse.encode("{}")), *frames])
    (finding,) = judged(mindie, "stream.well-formed", key, changed).findings
    assert (finding.where, finding.got) == ("/bytes/0", "'{oops'")


def nameless(entry: dict[str, Any], data: list[int]) -> None:
    """Make the entry's alternatives two tokens without text: special tokens, or parts of a character."""
    other = {"token": "", "bytes": data, "logprob": entry["logprob"] - 3}
    entry.update(token="", bytes=data, top_logprobs=[{**other, "logprob": entry["logprob"]}, other])


@pytest.mark.parametrize("data", [[], [0xE4, 0xBD]])
@pytest.mark.parametrize("check", ["bytes-are-the-token", "alternatives-differ", "chosen-as-listed"])
def test_tokens_without_text_are_not_considered_equal(
    read_good: Callable[[str], Good], check: str, data: list[int]
) -> None:
    good, key = read_good("openai"), ("logprobs", "told")

    def edit(body: Any) -> None:
        for entry in body["choices"][0]["logprobs"]["content"]:
            nameless(entry, data)

    changed = edit_answer(good.exchanges[key], edit)
    assert judged(good, f"logprobs.{check}", key, changed).findings == ()


@pytest.mark.parametrize(
    ("order", "is_sorted"),
    [("chosen a b", True), ("a chosen b", True), ("a b chosen", True), ("chosen b a", False), ("b chosen a", False)],
)
def test_the_chosen_token_may_stand_anywhere_among_sorted_alternatives(
    read_good: Callable[[str], Good], order: str, is_sorted: bool
) -> None:
    good, key = read_good("vllm"), ("logprobs", "told")
    values = {"chosen": -9.0, "a": -0.1, "b": -3.0}

    def edit(body: Any) -> None:
        for entry in body["choices"][0]["logprobs"]["content"]:
            listed = [alternative(letter, values[letter]) for letter in order.split()]
            entry.update(token="chosen", bytes=list(b"chosen"), logprob=values["chosen"], top_logprobs=listed)

    changed = edit_answer(good.exchanges[key], edit)
    assert bool(judged(good, "logprobs.alternatives-sorted", key, changed).findings) is not is_sorted


@pytest.mark.parametrize(("reason", "reported"), [("stop", False), ("length", True)])
def test_a_hot_choice_may_end_at_once_but_is_not_cut_without_text(mindie: Good, reason: str, reported: bool) -> None:
    key = ("choices", "sampled")

    def silence(body: dict[str, Any]) -> None:
        body["choices"][1] |= {"finish_reason": reason}
        body["choices"][1]["message"]["content"] = ""

    found = judged(mindie, "choices.all-speak", key, edit_answer(mindie.exchanges[key], silence))
    assert reported == bool(found.findings)
