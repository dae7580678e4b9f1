"""Test that no check raises an unexpected exception, whatever an exchange contains."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from conformance.proof.editing.responses import with_body, with_header, with_status
from conformance.proof.editing.streams import edit_frames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from conformance.exchange import Exchange
    from conformance.judge.judgement import Judgement
    from conformance.plan.assertion import Assertion
    from conformance.tests.conftest import Good

T = TypeVar("T")
VALUES: list[Any] = [None, True, -1, 10**30, 1.5, "", "x", "\ud800", [], [None], {}, {"a": [1]}, [[[]]], ...]


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every part of a JSON value; of a list only of the first item."""
    yield path
    if isinstance(value, dict):
        for name, field in value.items():
            yield from paths(field, (*path, name))
    elif isinstance(value, list) and value:
        yield from paths(value[0], (*path, 0))


def with_value(value: Any, path: tuple[Any, ...], replacement: Any) -> Any:
    """Return a copy with another value at a path; `...` removes the part at the path."""
    if not path:
        return None if replacement is ... else replacement
    copy = json.loads(json.dumps(value))
    holder = copy
    for step in path[:-1]:
        holder = holder[step]
    if replacement is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = replacement
    return copy


def replacements(value: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield every path with every second value, so that neighbouring paths have the other half."""
    for number, path in enumerate(paths(value)):
        yield from ((path, replacement) for replacement in VALUES[number % 2 :: 2])


def write(value: Any) -> bytes:
    """Encode JSON that may have an unpaired surrogate, escaped."""
    return json.dumps(value).encode()


def errors(judgements: tuple[Judgement, ...]) -> list[str]:
    """Return the unexpected errors of checks."""
    return [judgement.error for judgement in judgements if judgement.error]


def samples(good: Good, scenario: str | None = None) -> list[Assertion]:
    """Return the first and the last assertion of each check in a scenario, or in all: a check has one function."""
    assertions = [item for item in good.plan.assertions if scenario is None or item.scenario.id == scenario]
    first = {assertion.check.id: assertion for assertion in reversed(assertions)}
    last = {assertion.check.id: assertion for assertion in assertions}
    return list({id(assertion): assertion for assertion in (*first.values(), *last.values())}.values())


PLAIN = [
    ("greedy", "plain"),
    ("stop-text", "stopped"),
    ("prompts", "long"),
    ("models", "main"),
    ("refused-stream", "main"),
]


TOGETHER = ("openai", "ovms-2024", "siliconstorm", "vllm")
"""Four dialects that together require nearly all checks."""


def in_turn(items: Iterable[T]) -> list[tuple[str, T]]:
    """Return each item with one of these dialects."""
    return [(TOGETHER[number % len(TOGETHER)], item) for number, item in enumerate(items)]


@pytest.mark.takes_turns
@pytest.mark.parametrize(("dialect", "key"), in_turn(PLAIN))
def test_no_check_fails_on_any_plain_body(read_good: Callable[[str], Good], dialect: str, key: tuple[str, str]) -> None:
    form = read_good(dialect).around(key[0])
    exchange, assertions = form.exchanges[key], samples(form, key[0])
    for path, replacement in replacements(exchange.json):
        changed = with_body(exchange, write(with_value(exchange.json, path, replacement)))
        assert not errors(form.judge({key: changed}, assertions)), (path, replacement)


@pytest.mark.parametrize(("dialect", "which"), in_turn([0, 1, -2]))
def test_no_check_fails_on_any_chunk(read_good: Callable[[str], Good], dialect: str, which: int) -> None:
    key, form = ("greedy", "streamed"), read_good(dialect).around("greedy")
    exchange, assertions = form.exchanges[key], samples(form, key[0])
    chunk = json.loads(exchange.events[which].data)
    for path, replacement in replacements(chunk):
        body = write(with_value(chunk, path, replacement))

        def change(frames: list[Any], body: bytes = body) -> list[Any]:
            frames[which] = frames[which].with_data(body)
            return frames

        assert not errors(form.judge({key: edit_frames(exchange, change)}, assertions)), (path, replacement)


BODIES = {
    "empty": b"",
    "white space": b" \n\n\r\n",
    "invalid UTF-8": b"\xff\xfe\x00",
    "part of a character": "你".encode()[:2],
    "null": b"null",
    "a list": b"[]",
    "a number": b"7",
    "NaN": b'{"usage": NaN}',
    "too large a number": b'{"created": 1e400}',
    "5,000 digits": b'{"created": ' + b"1" * 5000 + b"}",
    "deep": b"[" * 5_000,
    "duplicate keys": b'{"id": "a", "id": "b"}',
    "unpaired surrogate": b'{"id": "\\ud800"}',
    "an HTML page": b"<html></html>",
    "only [DONE]": b"data: [DONE]\n\n",
    "no data": b"data:\n\n",
    "comments": b": ping\n\n" * 100,
    "an unterminated event": b'data: {"choices": []}',
    "lists as chunks": b"data: []\n\n",
    "null choices": b'data: {"choices": null}\n\ndata: {"choices": [null, 1, {}]}\n\n',
    "a whole answer": write(
        {
            "object": "chat.completion",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6},
        }
    ),
    "an error": b'data: {"error": {"message": "x"}}\n\ndata: [DONE]\n\n',
}


@pytest.mark.takes_turns
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize(("dialect", "body"), in_turn(BODIES))
def test_no_check_fails_on_any_bytes(read_good: Callable[[str], Good], dialect: str, body: str, kind: str) -> None:
    form = read_good(dialect)

    def change(exchange: Exchange) -> Exchange:
        if exchange.response is None:
            return exchange
        return with_header(with_body(exchange, BODIES[body]), "content-type", kind)

    assert not errors(form.judge(form.changed(change), samples(form)))


@pytest.mark.parametrize(("dialect", "status"), in_turn([100, 204, 301, 307, 404, 429, 500, 599, 999]))
def test_no_check_fails_on_any_status(read_good: Callable[[str], Good], dialect: str, status: int) -> None:
    form = read_good(dialect)
    changed = form.changed(lambda exchange: exchange if exchange.response is None else with_status(exchange, status))
    assert not errors(form.judge(changed, samples(form)))


@pytest.mark.takes_turns
def test_no_check_fails_without_a_response(good: Good) -> None:
    judgements = good.judge(good.changed(lambda exchange: replace(exchange, response=None)))
    assert not errors(judgements)
    silent = [judgement for judgement in judgements if not judgement.findings and judgement.unobserved is None]
    assert not [judgement.assertion.id for judgement in silent]
