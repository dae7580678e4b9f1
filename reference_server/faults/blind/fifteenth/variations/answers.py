"""Variations of answers: fields of events, other ways to write JSON, last chunks, and other models."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from openapi.stream import sse
from reference_server.faults.blind.frame_recipes import (
    calls_in,
    has_fields_of_tokens,
    only_choice,
    read_chunk,
    write_chunk,
)
from reference_server.faults.blind.other_models import model_after
from reference_server.faults.blind.validity import has_own_ids
from reference_server.faults.decorators import choices_of, has_parameters, message_of, variation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest

SEARCH: Final = {
    "citations": ["https://example.com/a", "https://example.org/b?c=d"],
    "search_results": [{"title": "A page", "url": "https://example.com/a", "date": None, "snippet": "Some text"}],
}


def _number_events(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Yield events with the other fields of the standard."""
    retry = b"" if request.event_index else b"retry: 3000\n"
    yield retry + b"id: %d\n" % request.event_index + frame


def _comment_events(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """Yield events whose first line is a comment."""
    yield b": PROCESSING\n" + frame


def _space(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    chunk = read_chunk(frame)
    yield sse.encode(json.dumps(chunk, ensure_ascii=False).encode()) if chunk else frame


def _state_request(chunk: Json, _request: ServedRequest) -> None:
    if any(choice.get("finish_reason") for choice in choices_of(chunk)):
        chunk["x_vendor"] = {"id": "req_01jt0xby4ffanamrs6m40mv0fy", "usage": {"queue_time": 0.0031, "calls": 1}}


def _cite(response: Json, _request: ServedRequest) -> None:
    response.update(SEARCH)


def _finish_calls(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Yield the last piece of a call together with the finish reason."""
    chunk = read_chunk(frame)
    choice = only_choice(chunk)
    held: dict[Any, Json] = request.state.setdefault("held", {})
    if choice is None or has_fields_of_tokens(request.payload):
        yield from (write_chunk(earlier) for earlier in held.values())
        held.clear()
        yield frame
        return
    earlier = held.pop(choice.get("index"), None)
    ends = bool(choice.get("finish_reason")) and not message_of(choice).get("content") and not calls_in(chunk)
    if earlier is not None and ends:
        said = {**message_of(choice), **message_of(next(choices_of(earlier)))}
        yield write_chunk({**chunk, "choices": [{**choice, "delta": said}]})
        return
    if earlier is not None and not calls_in(chunk) and not message_of(choice).get("content"):
        held[choice.get("index")] = earlier  # what follows the piece is empty
        return
    if earlier is not None:
        yield write_chunk(earlier)
    if calls_in(chunk) and not choice.get("finish_reason"):
        held[choice.get("index")] = chunk
    else:
        yield frame


events_have_ids = variation(
    "events-have-ids", "The events of a stream have numbers, and the first one a time to wait.", event=_number_events
)
events_begin_with_comments = variation(
    "events-begin-with-comments", "The first line of each event of a stream is a comment.", event=_comment_events
)
chunks_spaced = variation("chunks-spaced", "White space follows the separators in the JSON of chunks.", event=_space)
last_chunks_state_a_request = variation(
    "last-chunks-state-a-request",
    "The chunk with the finish reason has a field of the vendor.",
    chunk=_state_request,
    applies_to=has_own_ids,
)
answers_with_citations = variation(
    "answers-with-citations",
    "Answers and chunks have lists of pages that were searched.",
    answer=_cite,
    chunk=_cite,
    applies_to=has_own_ids,
)
calls_finish_with_their_last_piece = variation(
    "calls-finish-with-their-last-piece",
    "In a stream, the last piece of a call is in the chunk with the finish reason.",
    event=_finish_calls,
    applies_to=has_parameters("tools"),
)
model_after_a_trip = model_after(
    "model-after-a-trip",
    "The model answers after a conversation about a trip.",
    "We go to the sea by train. What do we take with us?",
    "Take water, bread and a warm coat.",
    "And for the dog?",
    "A bowl and a long rope.",
)
model_after_spanish = model_after(
    "model-after-spanish",
    "The model answers after a conversation in Spanish.",
    "¡Hola! ¿Cuál es la capital de España?",
    "La capital de España es Madrid.",
)
