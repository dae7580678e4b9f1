"""Conformance under load: sampled streams, judged by the contract's own rules once they have ended. Pure.

A server may keep the rules for one stream and break them for many: events lost or repeated, texts of one stream in
another, sums that no longer fit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, overload

from loadtests.shape.prompts import WORD
from openapi.stream import event_order as stream
from openapi.stream import sse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from loadtests.client.answer import Answer
    from loadtests.shape.workload import Request
    from openapi.stream.accumulated_choice import Folded

DETAIL: Final = 160
BYTES: Final = 16_384
EVENTS: Final = 64
"""Of a slice: decoding so many bytes takes a millisecond, as does judging so many events."""
REST_S: Final = 0.001
"""What lets the event loop have a turn; a pause of 0 gives one to greenlets that are ready, not to sockets."""
RULES: Final = {
    "repeated-events": "no event is sent twice",
    "crossed-answers": "an answer shows nothing of another request's",
    "usage-is-sum": "total_tokens is prompt_tokens + completion_tokens",
    "calls-where-required": "with tool_choice required a tool is called",
    "calls-what-is-offered": "a call names a tool of the request",
    "arguments-are-an-object": "the arguments of a whole call are a JSON object",
    "usage-counts": "completion_tokens is at least 1 where there is content",
}


def findings(
    answer: Answer, request: Request, rest: Callable[[], object] = lambda: None
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """Rule and detail of everything that a stream breaks. `rest` is called between slices of the work, so that a long
    stream keeps nobody waiting."""
    decoded = sse.decode(_slices(answer, rest))
    for flaw in decoded.flaws:
        if flaw.kind.breaks_standard:
            yield f"sse.{flaw.kind.value}", f"byte {flaw.offset}: {flaw.detail}"[:DETAIL]
    walked = stream.walk(_Resting([event.data for event in decoded.events], rest))
    for breach in walked.breaches:
        yield f"stream.{breach.rule}", f"event {breach.at}: {breach.got}"[:DETAIL]
    usage = walked.usages[-1][1] if walked.usages else {}
    yield from _of_usage(usage, answer)
    yield from _repeated([event.data for event in decoded.events], usage, sum(answer.counts))
    text = "".join(choice.content or "" for choice in walked.choices.values())
    for word in WORD.findall(text):
        if word != request.canary:
            yield "crossed-answers", f"{word} is another request's, this one's is {request.canary}"
    if request.tools:
        for choice in walked.choices.values():
            yield from _of_calls(choice, request)


class _Resting(Sequence[str]):
    """Events that rest while one goes through them."""

    def __init__(self, events: list[str], rest: Callable[[], object]) -> None:
        self._events = events
        self._rest = rest

    def __len__(self) -> int:
        return len(self._events)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        return self._events[at]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self._events), EVENTS):
            yield from self._events[start : start + EVENTS]
            self._rest()


def _slices(answer: Answer, rest: Callable[[], object]) -> Iterator[tuple[float, bytes]]:
    """What was received, in pieces that are decoded in a millisecond; no rule asks when each byte came."""
    data = memoryview(b"".join(piece for _, piece in answer.segments))
    for start in range(0, len(data), BYTES):
        if start:
            rest()
        yield 0.0, bytes(data[start : start + BYTES])


def _of_calls(choice: Folded, request: Request) -> Iterator[tuple[str, str]]:
    """A call that the token limit cut off need not be whole."""
    if choice.finish_reason == "length":
        return
    if request.must_call and not choice.tool_calls:
        yield "calls-where-required", f"no call, finish_reason {choice.finish_reason}"[:DETAIL]
    for call in choice.tool_calls:
        if call.name not in request.tools:
            yield "calls-what-is-offered", f"call {call.index} is of {call.name!r}"[:DETAIL]
        try:
            arguments = json.loads(call.arguments)
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            yield "arguments-are-an-object", f"call {call.index}: {call.arguments!r}"[:DETAIL]


def _of_usage(usage: dict[str, Any], answer: Answer) -> Iterator[tuple[str, str]]:
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")]
    if all(isinstance(count, int) and not isinstance(count, bool) for count in counts):
        prompt, completion, total = counts
        if prompt + completion != total:  # type: ignore[operator]
            yield "usage-is-sum", f"{prompt} + {completion} is not {total}"
        if completion < 1 and answer.counts:  # type: ignore[operator]
            yield "usage-counts", f"{completion} tokens, {sum(answer.counts)} events with content"


def _repeated(events: list[str], usage: dict[str, Any], content: int) -> Iterator[tuple[str, str]]:
    """An event equal to the one before may be the same token again; with more events than tokens it cannot be."""
    tokens = usage.get("completion_tokens")
    if not isinstance(tokens, int) or isinstance(tokens, bool) or content <= tokens:
        return
    twice = next((at for at, (one, other) in enumerate(pairwise(events), 1) if one == other), None)
    if twice is not None:
        yield "repeated-events", f"event {twice} is event {twice - 1} again; {content} with content, {tokens} tokens"
