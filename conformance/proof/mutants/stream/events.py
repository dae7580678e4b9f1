"""Mutants of the order of events, of errors in a stream, and of its usage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.responses import accept
from conformance.proof.editing.streams import FIRST, LAST, Frame, edit_choices, edit_chunks, edit_frames
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange

SECOND = slice(1, 2)


def _last_chunk(found: list[Frame]) -> int:
    """Return the position of the last event with a chunk."""
    return max(at for at, frame in enumerate(found) if frame.chunk is not None)


def _insert(exchange: Exchange, at: int, data: bytes) -> Exchange:
    """Insert an event at a position, arriving together with the event that was there."""
    return edit_frames(exchange, lambda found: [*found[:at], found[at].with_data(data), *found[at:]])


@mutant("stream.accepted")
def answer_is_not_streamed(exchange: Exchange) -> Exchange:
    """A request with `stream: true` is answered plain."""
    return accept(exchange)


@mutant("stream.done-last")
def done_is_missing(exchange: Exchange) -> Exchange:
    """The stream ends without `[DONE]`."""
    return edit_frames(exchange, lambda found: found[:-1])


@mutant("stream.done-once")
def done_is_sent_twice(exchange: Exchange) -> Exchange:
    """`[DONE]` is sent twice."""
    return edit_frames(exchange, lambda found: [*found, found[-1]])


@mutant("stream.nothing-after-done")
def chunk_follows_done(exchange: Exchange) -> Exchange:
    """A chunk follows `[DONE]`."""
    return edit_frames(exchange, lambda found: [*found, found[0]])


@mutant("stream.events-are-json")
def event_is_no_json(exchange: Exchange) -> Exchange:
    """The data of an event between two chunks is a bare word."""
    return _insert(exchange, 1, b"ping")


@mutant("stream.one-finish-per-choice")
def choice_never_finishes(exchange: Exchange) -> Exchange:
    """No chunk has a finish_reason."""
    return edit_choices(exchange, lambda choice: choice.update(finish_reason=None))


@mutant("stream.nothing-after-finish")
def choice_goes_on_after_its_finish(exchange: Exchange) -> Exchange:
    """The finish_reason is in the last chunk but one."""
    return edit_frames(exchange, lambda found: [*found[: _last_chunk(found) + 1], *_afterword(found)])


def _afterword(found: list[Frame]) -> list[Frame]:
    """Insert one more delta with text behind the last chunk."""
    last = _last_chunk(found)
    choice = {"index": 0, "delta": {"role": "assistant", "content": "!"}, "finish_reason": None}

    def speak(chunk: dict[str, Any]) -> None:
        chunk["choices"] = [choice]
        chunk.pop("usage", None)

    return [found[last].edited(speak), *found[last + 1 :]]


@mutant("stream.finish-reason-known")
def reason_is_empty_before_the_end(exchange: Exchange) -> Exchange:
    """The finish_reason of the first chunk is an empty string instead of null."""
    return edit_choices(exchange, lambda choice: choice.update(finish_reason=""), FIRST)


@mutant("stream.no-error-event")
def error_comes_in_mid_stream(exchange: Exchange) -> Exchange:
    """An error event is sent between two chunks."""
    return _insert(exchange, 1, b'{"error":"the model failed"}')


@mutant("stream.usage-with-finish", scenario="greedy*")
def usage_comes_after_the_finish(exchange: Exchange) -> Exchange:
    """Usage is sent in a separate chunk after the finish_reason."""

    def split(found: list[Frame]) -> list[Frame]:
        last = _last_chunk(found)
        spoken = found[last].edited(lambda chunk: chunk.pop("usage"))
        return [*found[:last], spoken, found[last].edited(lambda chunk: chunk.update(choices=[])), *found[last + 1 :]]

    return edit_frames(exchange, split)


@mutant("stream.usage-once")
def usage_is_in_every_chunk(exchange: Exchange) -> Exchange:
    """Usage is sent with every chunk."""
    usage = exchange.usage
    return edit_chunks(exchange, lambda chunk: chunk.update(usage=usage))


@mutant("stream.usage-on-request", scenario="usage-on-request")
def usage_is_not_sent(exchange: Exchange) -> Exchange:
    """The requested usage is not sent."""
    return edit_frames(exchange, lambda found: [frame for frame in found if not (frame.chunk or {}).get("usage")])


@mutant("stream.usage-null-elsewhere", scenario="usage-on-request")
def usage_is_absent_elsewhere(exchange: Exchange) -> Exchange:
    """The first chunk has no `usage`, although null is required."""
    return edit_chunks(exchange, lambda chunk: chunk.pop("usage"), FIRST)


@mutant("stream.usage-only-on-request")
def usage_is_sent_unasked(exchange: Exchange) -> Exchange:
    """The last chunk has usage that was not requested."""
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return edit_chunks(exchange, lambda chunk: chunk.update(usage=usage), LAST)


@mutant("stream.errors-fit-envelope")
def error_comes_as_a_number(exchange: Exchange) -> Exchange:
    """An error in the middle of a stream is a number."""
    return _insert(exchange, 1, b'{"error":7}')


@mutant("stream.nothing-after-error")
def stream_goes_on_after_an_error(exchange: Exchange) -> Exchange:
    """The stream continues after an error."""
    return _insert(exchange, 1, b'{"error":"the model failed"}')


@mutant("stream.usage-after-choices")
def usage_comes_first(exchange: Exchange) -> Exchange:
    """The chunk with usage and no choices is sent first."""
    return edit_frames(exchange, lambda found: [found[0].edited(_counted), *found])


def _counted(chunk: dict[str, Any]) -> None:
    chunk.update(choices=[], usage={"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2})
