"""What single judges mean by their words: accepted, named, a trace, a leak, null."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from conformance.check import Finding
from conformance.judge.acceptance import accepted, refused
from conformance.judge.checks.errors.response import TRACES
from conformance.proof.editing.answers import edit_answer, edit_text
from conformance.proof.editing.responses import accept, dump, refuse, with_body, with_header, with_status
from conformance.proof.editing.streams import edit_frames
from openapi.stream import sse

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exchange import Exchange
    from conformance.judge.judgement import Judgement
    from conformance.tests.conftest import Good


def judged(good: Good, identity: str, key: tuple[str, str], changed: Exchange) -> Judgement:
    """What a check says of one exchange that stands in for the recorded one."""
    (assertion,) = [
        each for each in good.plan.assertions if each.check.id == identity and (each.scenario.id, each.step.name) == key
    ]
    (found,) = good.judge({key: changed}, [assertion])
    return found


@pytest.fixture
def mindie(read_good: Callable[[str], Good]) -> Good:
    """The recorded run of MindIE 2.3."""
    return read_good("mindie-2.3")


@pytest.mark.parametrize(
    ("body", "status", "is_accepted", "is_refused"),
    [
        (b"{}", 200, True, False),
        (b"", 204, True, False),
        (b'{"error": "no"}', 200, False, True),
        (b'{"error": null, "choices": []}', 200, True, False),
        (b'{"code": 9999, "result": null, "message": "no"}', 200, False, True),
        (b'{"object": "error", "message": "no"}', 200, False, True),
        (b'{"error": "no"}', 400, False, True),
        (b"", 400, False, True),
        (b"no", 422, False, True),
        (b"no", 499, False, True),
        (b"no", 500, False, False),
        (b"no", 307, False, False),
        (b"{}", 299, True, False),
        (b"{}", 300, False, False),
        (b'{"error": "no"}', 299, False, True),
        (b'{"error": "no"}', 300, False, False),
        (b'{"error": "no"}', 199, False, False),
    ],
)
def test_what_counts_as_accepted_and_refused(
    mindie: Good, body: bytes, status: int, is_accepted: bool, is_refused: bool
) -> None:
    exchange = with_status(with_body(mindie.exchanges["conversation", "main"], body), status)
    assert (is_accepted, is_refused) == (accepted(exchange), refused(exchange))


def test_what_was_not_answered_was_neither_accepted_nor_refused(mindie: Good) -> None:
    silent = replace(mindie.exchanges["conversation", "main"], response=None)
    assert (accepted(silent), refused(silent)) == (False, False)


def test_a_stream_that_was_taken_and_then_broke_was_accepted(mindie: Good) -> None:
    stream = mindie.exchanges["greedy", "streamed"]
    broken = edit_frames(stream, lambda frames: [*frames[:2], frames[2].saying(b'{"error": "no"}')])
    assert (accepted(broken), refused(broken)) == (True, False)


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
def test_a_parameter_is_named_by_a_word_of_its_own(mindie: Good, text: str, is_named: bool) -> None:
    key = ("n-0-refused", "main")
    changed = edit_answer(mindie.exchanges[key], lambda body: body.update(error=text, error_type="x"))
    assert is_named == (not judged(mindie, "errors.names-the-parameter", key, changed).findings)


@pytest.mark.parametrize(("name", "is_named"), [("enable_thinking", True), ("thinking", False)])
def test_a_parameter_is_named_by_a_member_of_what_was_sent_for_it(mindie: Good, name: str, is_named: bool) -> None:
    key = ("chat_template_kwargs-thinking-text-refused", "main")
    said = f"{name} must be true or false"
    changed = edit_answer(mindie.exchanges[key], lambda body: body.update(error=said, error_type="x"))
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
def test_what_is_taken_for_the_inside_of_a_server(text: str, is_trace: bool) -> None:
    assert is_trace == (TRACES.search(text) is not None)


@pytest.mark.parametrize(
    ("off", "fits"),
    [(timedelta(), True), (timedelta(minutes=-50), True), (timedelta(minutes=50), True), (timedelta(hours=2), False)],
)
def test_created_is_the_time_of_the_answer_give_or_take_an_hour(mindie: Good, off: timedelta, fits: bool) -> None:
    key = ("conversation", "main")
    exchange = mindie.exchanges[key]
    created = int((datetime.fromisoformat(exchange.started_at) + off).timestamp())
    changed = edit_answer(exchange, lambda answer: answer.update(created=created))
    assert fits == (not judged(mindie, "answer.created-now", key, changed).findings)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_an_unknown_path_may_be_hidden_behind_the_key(mindie: Good, status: int) -> None:
    key = ("unknown-path", "main")
    assert not judged(mindie, "http.unknown-path-is-404", key, with_status(mindie.exchanges[key], status)).findings


def test_get_may_be_unknown_too_and_then_owes_no_allow_header(mindie: Good) -> None:
    key = ("get-chat", "main")
    hidden = with_header(with_status(mindie.exchanges[key], 404), "allow", None)
    assert not judged(mindie, "http.get-refused", key, hidden).findings
    assert not judged(mindie, "http.allow-header", key, hidden).applies


def stopped(good: Good, step: str, text: str) -> dict[tuple[str, str], Exchange]:
    """The scenario of stop texts in which one answer says something else."""
    exchange = good.exchanges["stop-text", step]
    if not exchange.is_stream:
        return {("stop-text", step): edit_text(exchange, lambda _: text)}
    said = iter([text])

    def rewrite(frames: list[Any]) -> list[Any]:
        return [
            frame.edited(lambda chunk: chunk["choices"][0]["delta"].update(content=next(said, "")))
            if (frame.chunk or {}).get("choices")
            else frame
            for frame in frames
        ]

    return {("stop-text", step): edit_frames(exchange, rewrite)}


def verdict_on_stop(good: Good, identity: str, changed: dict[tuple[str, str], Exchange]) -> str:
    """found, fits, or astray: what a check about stop texts makes of an answer."""
    (assertion,) = good.of(identity, "stop-text")
    (judgement,) = good.judge(changed, [assertion])
    assert judgement.error is None
    return "found" if judgement.findings else "fits" if judgement.unobserved is None else "astray"


@pytest.mark.parametrize("step", ["stopped", "stopped-streamed"])
def test_a_leak_is_told_from_an_answer_that_went_another_way(mindie: Good, step: str) -> None:
    whole = mindie.exchanges["stop-text", "baseline"].content() or ""
    stop = mindie.exchanges["stop-text", step].request_json["stop"]
    until = whole[: whole.find(stop)]
    for text, expected in (
        (until, "fits"),
        (until + stop[0], "found"),
        (until + stop, "found"),
        (whole, "found"),
        (until[:-1], "found"),
        ("", "found"),
        (f"{until[:3]}#{until[3:]}", "astray"),
        ("Certainly!", "astray"),
    ):
        assert expected == verdict_on_stop(mindie, "stop.cut-where-it-starts", stopped(mindie, step, text)), text


def test_a_leak_is_found_beside_an_answer_that_went_another_way(mindie: Good) -> None:
    whole = mindie.exchanges["stop-text", "baseline"].content() or ""
    changed = {**stopped(mindie, "stopped", "Certainly!"), **stopped(mindie, "stopped-streamed", whole)}
    assert verdict_on_stop(mindie, "stop.cut-where-it-starts", changed) == "found"


def test_an_included_stop_text_ends_the_answer(mindie: Good) -> None:
    whole = mindie.exchanges["stop-text", "baseline"].content() or ""
    stop = mindie.exchanges["stop-text", "included"].request_json["stop"]
    until = whole[: whole.find(stop)]
    for text, expected in (
        (until + stop, "fits"),
        (until, "found"),
        (until + stop[:-1], "found"),
        (whole, "found"),
        (f"{until}{stop} and more", "found"),
        (f"{until}#", "found"),
        ("Certainly!", "astray"),
    ):
        found = verdict_on_stop(mindie, "stop.included-on-request", stopped(mindie, "included", text))
        assert expected == found, text


def test_a_limit_reached_before_the_stop_text_is_no_fault(mindie: Good) -> None:
    key = ("stop-text", "stopped")

    def rambled(answer: dict[str, Any]) -> None:
        answer["choices"][0].update(finish_reason="length")
        answer["choices"][0]["message"].update(content="Certainly!")
        answer["usage"].update(completion_tokens=48, total_tokens=answer["usage"]["prompt_tokens"] + 48)

    changed = edit_answer(mindie.exchanges[key], rambled)
    assert not judged(mindie, "finish.stop-when-stopped", key, changed).applies
    early = edit_answer(changed, lambda answer: answer["usage"].update(completion_tokens=7))
    assert judged(mindie, "finish.stop-when-stopped", key, early).findings


def test_null_is_judged_by_what_the_dialect_says_of_it(good: Good) -> None:
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


def test_a_chunk_is_found_by_the_place_of_its_event(mindie: Good) -> None:
    key = ("greedy", "streamed")

    def change(frames: list[Any]) -> list[Any]:
        frames[3] = frames[3].edited(lambda chunk: chunk.update(object="x"))
        return frames

    (finding,) = judged(mindie, "stream.object-named", key, edit_frames(mindie.exchanges[key], change)).findings
    assert finding == Finding("/events/3/object", "chat.completion.chunk", "'x'")


def test_the_content_type_of_a_stream_is_compared_without_its_parameters(mindie: Good) -> None:
    key = ("greedy", "streamed")
    for value, fits in (("Text/Event-Stream ; x=y", True), ("text/event-stream2", False), ("application/json", False)):
        changed = with_header(mindie.exchanges[key], "content-type", value)
        assert fits == (not judged(mindie, "stream.event-stream-type", key, changed).findings)


def test_a_body_with_many_faults_is_reported_at_each_of_them(mindie: Good) -> None:
    key = ("conversation", "main")
    answer = {"id": "", "object": "x", "created": "now", "model": 7, "choices": [{"index": -1}]}
    found = judged(mindie, "answer.fits-schema", key, with_body(mindie.exchanges[key], dump(answer))).findings
    assert {"/id", "/object", "/created", "/model"} <= {each.where for each in found}


def test_one_fault_of_the_bytes_is_one_finding(mindie: Good) -> None:
    key = ("greedy", "streamed")
    exchange = mindie.exchanges[key]
    changed = edit_frames(exchange, lambda frames: [replace(frames[0], raw=b"oops\n" + sse.encode("{}")), *frames])
    (finding,) = judged(mindie, "stream.well-formed", key, changed).findings
    assert (finding.where, finding.got) == ("/bytes/0", "'oops'")


def nameless(entry: dict[str, Any], data: list[int]) -> None:
    """The entry's alternatives become two tokens without text: special ones, or parts of a character."""
    other = {"token": "", "bytes": data, "logprob": entry["logprob"] - 3}
    entry.update(token="", bytes=data, top_logprobs=[{**other, "logprob": entry["logprob"]}, other])


@pytest.mark.parametrize("data", [[], [0xE4, 0xBD]])
@pytest.mark.parametrize("check", ["bytes-are-the-token", "alternatives-differ", "chosen-as-listed"])
def test_tokens_without_text_are_not_taken_for_one_another(
    read_good: Callable[[str], Good], check: str, data: list[int]
) -> None:
    good, key = read_good("openai"), ("logprobs", "told")

    def edit(body: Any) -> None:
        for entry in body["choices"][0]["logprobs"]["content"]:
            nameless(entry, data)

    changed = edit_answer(good.exchanges[key], edit)
    assert judged(good, f"logprobs.{check}", key, changed).findings == ()
