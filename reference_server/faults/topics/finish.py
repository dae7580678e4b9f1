"""Finish reasons that do not come, come twice, or lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import at_seams, demands, fault, said_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reference_server.faults.hooks import Json, Told


def _instead(found: str | None, other: str | None) -> Callable[[Json, Told], None]:
    def edit(choice: Json, _told: Told) -> None:
        if choice.get("finish_reason") == found:
            choice["finish_reason"] = other

    return edit


def _ended(choice: Json, other: str | None) -> None:
    if choice.get("finish_reason") is not None:
        choice["finish_reason"] = other


reason_empty = said_by(
    "reason-empty", _instead(None, ""), "The finish_reason is an empty text before the end.", plain=False, bugs=[32]
)
reason_absent = said_by(
    "reason-absent",
    lambda choice, _told: choice.pop("finish_reason") if choice["finish_reason"] is None else None,
    "The finish_reason is absent before the end.",
    plain=False,
    bugs=[33],
    fits=demands("stream.finish-reason-always-there", "stream.finish-reason-known"),
)
never_finishes = said_by(
    "never-finishes", lambda choice, _told: _ended(choice, None), "No choice of a stream gets a finish_reason.",
    plain=False, bugs=[42],
)  # fmt: skip
reason_null_plain = said_by(
    "reason-null-plain", lambda choice, _told: _ended(choice, None), "The finish_reason of plain answers is null.",
    streamed=False, bugs=[42],
)  # fmt: skip
reason_of_the_engine = said_by(
    "reason-of-the-engine",
    _instead("stop", "eos_token"),
    "An answer that ended by itself has an engine's reason.",
)
reason_capital = said_by("reason-in-capitals", _instead("length", "LENGTH"), "Finish reasons are in capitals.")
stop_when_cut = said_by("stop-when-cut", _instead("length", "stop"), "What the limit cut ends with stop.", bugs=[55])
length_always = said_by(
    "length-always", _instead("stop", "length"), "What ended by itself ends with length.", bugs=[56]
)
tool_calls_for_nothing = said_by(
    "tool-calls-for-nothing",
    _instead("stop", "tool_calls"),
    "An answer without a tool call ends with tool_calls.",
    bugs=[52],
)
streams_end_otherwise = said_by(
    "streams-end-otherwise", _instead("stop", "length"), "Streams end for another reason than plain answers.",
    plain=False, bugs=[57],
)  # fmt: skip


@fault("finish-lost-with-logprobs", "chunk", bugs=[43], fits=demands("logprobs.in-every-chunk", "stream.usage-once"))
def finish_lost_with_logprobs(chunk: Json, told: Told) -> None:
    """A stream with log-probabilities gets no finish_reason."""
    if told.sent.get("logprobs") or told.sent.get("top_logprobs"):
        for choice in chunk["choices"]:
            choice["finish_reason"] = None


@fault("finishes-twice", "event")
def finishes_twice(frame: bytes, _told: Told) -> Iterator[bytes]:
    """The last chunk of a choice comes twice."""
    yield frame
    if b'"finish_reason":"' in frame:
        yield frame


@fault("goes-on-after-finish", "event")
def goes_on_after_finish(frame: bytes, told: Told) -> Iterator[bytes]:
    """A choice says more after its finish_reason."""
    if told.at == 1:
        told.memory["spoken"] = frame
    yield frame
    if b'"finish_reason":"' in frame and "spoken" in told.memory:
        yield told.memory["spoken"]


@fault("last-choice-chunk-lost", "event", bugs=[42])
def last_choice_chunk_lost(frame: bytes, _told: Told) -> Iterator[bytes]:
    """The chunk that ends a stream is lost."""
    if b'"finish_reason":"' not in frame:
        yield frame


def _short(told: Told) -> None:
    limit = told.sent.get("max_tokens")
    if type(limit) is int and limit > 1:
        told.sent["max_tokens"] = limit - 1


one_token_short = at_seams("one-token-short", "An answer is cut one token before max_tokens.", request=_short)
