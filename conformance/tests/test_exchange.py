"""Exchanges: the views of plain, streamed and broken answers, and conversion to JSON and back without loss."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.errors import HarnessError
from conformance.exchange import Exchange, Failure, Request, Response, Segment
from openapi.stream.sse import MAX_EVENTS, encode
from openapi.stream.strict_json import NOT_JSON

USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
ANSWER = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "你好"}, "finish_reason": "stop"}],
    "usage": USAGE,
}
STREAM = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "你"}, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {"content": "好"}, "finish_reason": None}], "usage": None},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": USAGE},
]
EVENTS = [json.dumps(event, ensure_ascii=False) for event in STREAM] + ["[DONE]"]


def make(
    *parts: bytes,
    status: int = 200,
    content_type: str | None = "application/json",
    complete: bool = True,
    **others: Any,
) -> Exchange:
    headers = (("Server", "x"),) if content_type is None else (("Content-Type", content_type), ("Server", "x"))
    segments = tuple(Segment(float(at), part) for at, part in enumerate(parts, start=1))
    return Exchange(
        id="case-1",
        scenario="case",
        step="main",
        request=others.pop("request", Request("POST", "http://h/v1", (("A", "b"),), b'{"a": 1}')),
        response=Response(status, "OK", "HTTP/1.1", headers, segments, 0.5, 9.0, complete),
        failure=others.pop("failure", None),
        started_at="2026-11-20T00:00:00+00:00",
    )


def plain(answer: object, **others: Any) -> Exchange:
    return make(json.dumps(answer).encode(), **others)


def streamed(*data: str, **others: Any) -> Exchange:
    return make(*map(encode, data), content_type="text/event-stream; charset=utf-8", **others)


UNANSWERED = replace(make(), response=None, failure=Failure("connect", "nothing listens there"))


def test_a_plain_and_a_streamed_answer_have_the_same_views() -> None:
    for exchange in (plain(ANSWER), streamed(*EVENTS)):
        assert exchange.content() == "你好"
        assert exchange.finish_reason() == "stop"
        assert exchange.usage == USAGE
        assert exchange.succeeded
        assert list(exchange.choices) == [0]
        assert exchange.choices[0].roles == ("assistant",)
        assert (exchange.content(1), exchange.finish_reason(1)) == (None, None)


def test_events_arrive_when_their_segment_did_and_are_walked() -> None:
    exchange = streamed(*EVENTS)
    assert [event.at_s for event in exchange.events] == [1.0, 2.0, 3.0, 4.0]
    assert exchange.walk.breaches == ()
    assert exchange.walk.done_at == (3,)
    assert exchange.decoded.anomalies == ()


def test_only_event_streams_are_decoded() -> None:
    assert plain(ANSWER).events == ()
    assert not plain(ANSWER).is_stream
    assert streamed(*EVENTS).is_stream
    assert streamed().is_stream


@pytest.mark.parametrize("body", [b"data: {}\n\n", b": hi\n\n", b"\xef\xbb\xbfdata:x\n\n", b"\n\nevent: a\n", b"data:"])
def test_a_stream_is_recognized_by_its_first_bytes(body: bytes) -> None:
    assert make(body, content_type="text/plain").is_stream
    assert make(body, content_type=None).is_stream


@pytest.mark.parametrize("body", [b"", b"{}", b"database: x", b'"data: x"', b" data: x"])
def test_other_bodies_are_not_streams(body: bytes) -> None:
    assert not make(body).is_stream


def test_a_stream_with_too_many_events_is_cut_off_and_reported() -> None:
    decoded = streamed("x" * 3, *["{}"] * MAX_EVENTS).decoded
    assert len(decoded.events) == MAX_EVENTS
    assert sum(decoded.anomaly_counts.values()) == 1


@pytest.mark.parametrize(
    ("exchange", "succeeded"),
    [
        (plain(ANSWER, status=201), True),
        (plain(ANSWER, status=199), False),
        (plain(ANSWER, status=302), False),
        (plain({"error": {"message": "no"}}, status=400), False),
        (plain({"error": {"message": "no"}}), False),
        (plain({"code": 701, "message": "no", "result": None}), False),
        (plain({**ANSWER, "error": None}), True),
        (plain(ANSWER, complete=False, failure=Failure("reset", "")), False),
        (streamed(*EVENTS[:2], json.dumps({"error": "no"}), "[DONE]"), False),
        (streamed(*EVENTS[:2], complete=False, failure=Failure("disconnected-by-us", "")), False),
        (UNANSWERED, False),
    ],
)
def test_success_is_a_complete_2xx_answer_without_an_error(exchange: Exchange, succeeded: bool) -> None:
    assert exchange.succeeded is succeeded


def test_headers_are_found_in_any_case_and_joined() -> None:
    exchange = make(content_type="Text/Event-Stream ; charset=utf-8")
    assert exchange.response is not None
    headers = (*exchange.response.headers, ("X-A", "1"), ("x-a", "2"))
    exchange = replace(exchange, response=replace(exchange.response, headers=headers))
    assert exchange.content_type == "text/event-stream"
    assert exchange.header("X-a") == "1, 2"
    assert exchange.header("x-b") is None


def test_an_unanswered_exchange_has_empty_views() -> None:
    views = UNANSWERED
    assert (views.status, views.body, views.text, views.content_type, views.events) == (None, b"", "", "", ())
    assert (views.json, views.usage, views.content(), views.complete) == (NOT_JSON, None, None, False)
    assert views.header("x") is None


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"[NaN]", "NaN is not JSON"),
        (b"[" * 200_000, "nested too deeply to be read"),
        (b'"\xff"', "not UTF-8 at byte 1"),
    ],
)
def test_json_error_gives_the_reason(body: bytes, error: str) -> None:
    assert make(body).json is NOT_JSON
    assert make(body).json_error == error


def test_json_error_mentions_an_unexpected_content_encoding() -> None:
    exchange = make(b"\x1f\x8b\x08")
    assert exchange.response is not None
    compressed = replace(exchange, response=replace(exchange.response, headers=(("content-encoding", "gzip"),)))
    assert compressed.json_error == "not UTF-8 at byte 1 (Content-Encoding: gzip)"


def test_oddities_of_json_are_kept_besides_its_value() -> None:
    exchange = make(b'{"a": 1, "a": null}')
    assert (exchange.json, exchange.json_error, exchange.json_oddities) == ({"a": None}, "", ("duplicate key 'a'",))
    assert exchange.request_json == {"a": 1}


@pytest.mark.parametrize("answer", [None, [], {"choices": None}, {"choices": [None, {"index": "0"}]}, {"choices": 3}])
def test_malformed_parts_of_an_answer_are_left_out(answer: object) -> None:
    assert not plain(answer).content()
    assert plain(answer).usage is None


def test_choices_without_an_index_use_their_position() -> None:
    message = {"role": "assistant", "content": "x"}
    exchange = plain({"choices": [{"message": message}, {"message": {**message, "content": "y"}, "index": True}]})
    assert (exchange.content(0), exchange.content(1)) == ("x", "y")


def test_tool_calls_of_a_plain_message_are_accumulated_like_those_of_a_stream() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call, {**call, "id": "b"}]}
    choice = plain({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}).choices[0]
    assert [(tool.index, tool.ids, tool.name, tool.arguments) for tool in choice.tool_calls] == [
        (0, ("a",), "f", '{"x": 1}'),
        (1, ("b",), "f", '{"x": 1}'),
    ]
    assert (choice.content, choice.output_at) == ("", (0,))


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@given(
    st.lists(st.binary(max_size=5) | TEXTS.map(str.encode), max_size=3),
    st.binary(max_size=5) | TEXTS.map(str.encode),
    st.floats(0, 1e6),
    TEXTS,
)
@settings(derandomize=True, max_examples=200, deadline=None)
def test_an_exchange_is_converted_to_json_and_back_without_loss(
    parts: list[bytes], body: bytes, at_s: float, text: str
) -> None:
    exchange = make(*parts, request=Request("POST", text, ((text, "é"),), body), failure=Failure("reset", text))
    assert exchange.response is not None
    exchange = replace(exchange, response=replace(exchange.response, headers_at_s=at_s))
    for variant in (exchange, replace(exchange, response=None), replace(exchange, failure=None)):
        assert Exchange.from_dict(json.loads(json.dumps(variant.to_dict()))) == variant


def test_utf8_bytes_are_written_as_a_string() -> None:
    data = make("你".encode(), b"\xff").to_dict()
    assert data["response"]["segments"] == [[1.0, "你"], [2.0, {"base64": "/w=="}]]
    assert data["request"]["body"] == '{"a": 1}'


GOOD = make(b"x", failure=Failure("reset", "gone")).to_dict()


@pytest.mark.parametrize(("fields", "expected"), [({"stalled_s": 0.5}, 0.5), ({"held_up_s": 0.5}, 0.5), ({}, 0.0)])
def test_stalled_s_is_read_under_its_older_name_too(fields: dict[str, float], expected: float) -> None:
    response = {name: value for name, value in GOOD["response"].items() if name != "stalled_s"}
    exchange = Exchange.from_dict({**GOOD, "response": {**response, **fields}})
    assert exchange.response is not None
    assert exchange.response.stalled_s == expected


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        {},
        {**GOOD, "id": 3},
        {**GOOD, "request": None},
        {**GOOD, "failure": {"kind": "bored", "detail": ""}},
        {**GOOD, "failure": {"kind": [], "detail": ""}},
        {**GOOD, "response": {**GOOD["response"], "status": "many"}},
        {**GOOD, "response": {**GOOD["response"], "segments": [[1.0, {"base64": "?"}]]}},
        {**GOOD, "response": {**GOOD["response"], "segments": [[1.0]]}},
        {**GOOD, "response": {**GOOD["response"], "headers": [["a"]]}},
    ],
)
def test_an_invalid_record_is_refused_in_one_line(record: object) -> None:
    with pytest.raises(HarnessError, match=r"^invalid recorded exchange: [^\n]+$"):
        Exchange.from_dict(record)
