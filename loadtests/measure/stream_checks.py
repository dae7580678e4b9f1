"""Check sampled streams by the contract's stream rules while the server is under load. Does no I/O.

A server may follow the rules with one stream and break them with many: events lost or repeated, texts of one stream
in another, sums that no longer add up. A stream is checked after it has ended, in slices, so that checking a long
stream does not delay the reads of others.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, overload

from loadtests.shape.prompts import WORD
from openapi.schema.quantity import format_quantity
from openapi.server_values import read_count
from openapi.stream import event_order, sse
from openapi.stream.strict_json import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from loadtests.client.answer import Answer
    from loadtests.shape.workload import WorkloadRequest
    from openapi.stream.accumulated_choice import AccumulatedChoice

MAX_DETAIL: Final = 160
SLICE_BYTES: Final = 16_384
SLICE_EVENTS: Final = 64
"""Decoding a slice of this many bytes takes a millisecond, and so does checking this many events."""
PAUSE_S: Final = 0.001
"""A pause that gives the event loop a turn; a pause of 0 gives one to greenlets that are ready, not to sockets."""


def check_stream(
    answer: Answer, request: WorkloadRequest, pause: Callable[[], object] = lambda: None
) -> Iterator[tuple[str, str]]:
    """Yield the rule and a detail of each violation. `pause` is called between slices of the work."""
    decoded = sse.decode(_slices(answer, pause))
    for anomaly in decoded.anomalies:
        if anomaly.kind.breaks_standard:
            yield f"sse.{anomaly.kind.value}", f"byte {anomaly.offset}: {anomaly.detail}"[:MAX_DETAIL]
    walked = event_order.walk(_PausingEvents([event.data for event in decoded.events], pause))
    for breach in walked.breaches:
        yield f"stream.{breach.rule}", f"event {breach.at}: {breach.got}"[:MAX_DETAIL]
    usage = walked.usages[-1][1] if walked.usages else {}
    yield from _check_usage(usage, answer)
    yield from _check_repeated([event.data for event in decoded.events], usage, sum(answer.counts))
    text = "".join(choice.content or "" for choice in walked.choices.values())
    for word in WORD.findall(text):
        if word != request.canary:
            yield "crossed-answers", f"{word} belongs to another request; this request has {request.canary}"
    if request.tools:
        for choice in walked.choices.values():
            yield from _check_calls(choice, request)


class _PausingEvents(Sequence[str]):
    """A sequence of events that pauses while it is iterated."""

    def __init__(self, events: list[str], pause: Callable[[], object]) -> None:
        self._events = events
        self._pause = pause

    def __len__(self) -> int:
        return len(self._events)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        return self._events[at]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self._events), SLICE_EVENTS):
            yield from self._events[start : start + SLICE_EVENTS]
            self._pause()


def _slices(answer: Answer, pause: Callable[[], object]) -> Iterator[tuple[float, bytes]]:
    """Yield the received bytes in slices, without their times: no rule depends on them."""
    data = memoryview(b"".join(piece for _, piece in answer.segments))
    for start in range(0, len(data), SLICE_BYTES):
        if start:
            pause()
        yield 0.0, bytes(data[start : start + SLICE_BYTES])


def _check_calls(choice: AccumulatedChoice, request: WorkloadRequest) -> Iterator[tuple[str, str]]:
    """Check tool calls, unless the token limit cut them off."""
    if choice.finish_reason == "length":
        return
    if request.must_call and not choice.tool_calls:
        yield "calls-where-required", f"no tool call, finish_reason {choice.finish_reason}"[:MAX_DETAIL]
    for call in choice.tool_calls:
        if call.name not in request.tools:
            yield "calls-what-is-offered", f"call {call.index} names {call.name!r}"[:MAX_DETAIL]
        try:
            arguments = json.loads(call.arguments)
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            yield "arguments-are-an-object", f"call {call.index}: {call.arguments!r}"[:MAX_DETAIL]


def _check_usage(usage: dict[str, Any], answer: Answer) -> Iterator[tuple[str, str]]:
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    for name in names:
        if isinstance(usage.get(name), int) and read_count(usage[name]) is None:
            yield "usage-counts", f"{name} is {quote(usage[name])}, not a count"
    prompt, completion, total = (read_count(usage.get(name)) for name in names)
    if prompt is not None and completion is not None and total is not None:
        if prompt + completion != total:
            yield "usage-is-sum", f"{prompt} + {completion} != {total}"
        if completion < 1 and answer.counts:
            yield "usage-counts", f"{format_quantity(completion, 'token')}, {_count_events(sum(answer.counts))}"


def _check_repeated(events: list[str], usage: dict[str, Any], content: int) -> Iterator[tuple[str, str]]:
    """Report an event that equals the previous one only if there are more events than tokens: a token can repeat."""
    tokens = read_count(usage.get("completion_tokens"))
    if tokens is None or content <= tokens:
        return
    repeated = next((at for at, (one, other) in enumerate(pairwise(events), 1) if one == other), None)
    if repeated is not None:
        numbers = f"{_count_events(content)}, {format_quantity(tokens, 'token')}"
        yield "repeated-events", f"event {repeated} equals event {repeated - 1}; {numbers}"


def _count_events(number: int) -> str:
    return format_quantity(number, "event with content", "events with content")
