"""No judge breaks, whatever it is shown."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.proof.editing.responses import with_body, with_header, with_status
from conformance.proof.editing.streams import edit_frames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.exchange import Exchange
    from conformance.judge.judgement import Judgement
    from conformance.tests.conftest import Good

VALUES: list[Any] = [None, True, -1, 10**30, 1.5, "", "x", "\ud800", [], [None], {}, {"a": [1]}, [[[]]], ...]


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every part of a JSON value stands; of a list only the first item."""
    yield way
    if isinstance(value, dict):
        for name, member in value.items():
            yield from places(member, (*way, name))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*way, 0))


def with_value(value: Any, way: tuple[Any, ...], instead: Any) -> Any:
    """A copy with another value at a place; `...` takes the place away."""
    if not way:
        return None if instead is ... else instead
    copy = json.loads(json.dumps(value))
    holder = copy
    for step in way[:-1]:
        holder = holder[step]
    if instead is ...:
        del holder[way[-1]]
    else:
        holder[way[-1]] = instead
    return copy


def write(value: Any) -> bytes:
    """JSON that may hold half a surrogate pair, escaped."""
    return json.dumps(value).encode()


def errors(judgements: tuple[Judgement, ...]) -> list[str]:
    """What broke in a judge."""
    return [judgement.error for judgement in judgements if judgement.error]


def around(good: Good, key: tuple[str, str]) -> list[Any]:
    """The assertions on the scenario of an exchange."""
    return [assertion for assertion in good.plan.assertions if assertion.scenario.id == key[0]]


PLAIN = [
    ("greedy", "plain"),
    ("stop-text", "stopped"),
    ("prompts", "long"),
    ("models", "main"),
    ("refused-stream", "main"),
]


@pytest.fixture(params=["mindie-2.3", "ovms-2024", "siliconstorm"])
def form(request: pytest.FixtureRequest, read_good: Callable[[str], Good]) -> Good:
    """The recorded runs whose dialects ask for different checks: between them they ask for all."""
    return read_good(request.param)


@pytest.mark.parametrize("key", PLAIN, ids=["/".join(key) for key in PLAIN])
def test_no_judge_breaks_on_a_plain_body_whatever_it_holds(form: Good, key: tuple[str, str]) -> None:
    exchange, assertions = form.exchanges[key], around(form, key)
    for way in places(exchange.json):
        for instead in VALUES:
            changed = with_body(exchange, write(with_value(exchange.json, way, instead)))
            assert not errors(form.judge({key: changed}, assertions)), (way, instead)


@pytest.mark.parametrize("which", [0, 1, -2])
def test_no_judge_breaks_on_a_chunk_whatever_it_holds(form: Good, which: int) -> None:
    key = ("greedy", "streamed")
    exchange, assertions = form.exchanges[key], around(form, key)
    chunk = json.loads(exchange.events[which].data)
    for way in places(chunk):
        for instead in VALUES:
            body = write(with_value(chunk, way, instead))

            def change(frames: list[Any], body: bytes = body) -> list[Any]:
                frames[which] = frames[which].saying(body)
                return frames

            assert not errors(form.judge({key: edit_frames(exchange, change)}, assertions)), (way, instead)


BODIES = {
    "nothing": b"",
    "white space": b" \n\n\r\n",
    "no UTF-8": b"\xff\xfe\x00",
    "half a character": "你".encode()[:2],
    "null": b"null",
    "a list": b"[]",
    "a number": b"7",
    "NaN": b'{"usage": NaN}',
    "too large a number": b'{"created": 1e400}',
    "5,000 digits": b'{"created": ' + b"1" * 5000 + b"}",
    "deep": b"[" * 5_000,
    "double keys": b'{"id": "a", "id": "b"}',
    "half a pair": b'{"id": "\\ud800"}',
    "a page": b"<html></html>",
    "only the end": b"data: [DONE]\n\n",
    "no data": b"data:\n\n",
    "comments": b": ping\n\n" * 100,
    "an open event": b'data: {"choices": []}',
    "lists for chunks": b"data: []\n\n",
    "null choices": b'data: {"choices": null}\n\ndata: {"choices": [null, 1, {}]}\n\n',
    "an error": b'data: {"error": {"message": "x"}}\n\ndata: [DONE]\n\n',
}


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("body", BODIES)
def test_no_judge_breaks_on_bytes_whatever_they_are(form: Good, body: str, kind: str) -> None:
    def change(exchange: Exchange) -> Exchange:
        if exchange.response is None:
            return exchange
        return with_header(with_body(exchange, BODIES[body]), "content-type", kind)

    assert not errors(form.judge(form.changed(change)))


@pytest.mark.parametrize("status", [100, 204, 301, 307, 404, 429, 500, 599, 999])
def test_no_judge_breaks_on_a_status_whatever_it_is(form: Good, status: int) -> None:
    changed = form.changed(lambda each: each if each.response is None else with_status(each, status))
    assert not errors(form.judge(changed))


def test_no_judge_breaks_without_an_answer(good: Good) -> None:
    judgements = good.judge(good.changed(lambda exchange: replace(exchange, response=None)))
    assert not errors(judgements)
    silent = [judgement for judgement in judgements if not judgement.findings and judgement.unobserved is None]
    assert not [each.assertion.id for each in silent]
