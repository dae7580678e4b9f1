"""Variations of streams: calls in many pieces, choices one after another, and empty pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from reference_server.faults.blind.frame_recipes import (
    calls_in,
    has_fields_of_tokens,
    only_choice,
    read_chunk,
    write_chunk,
)
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters, variation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest


def _split_arguments(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Yield a frame for each character of arguments."""
    chunk = read_chunk(frame)
    calls = calls_in(chunk)
    arguments = calls[0].get("function", {}).get("arguments", "") if len(calls) == 1 else ""
    if len(arguments) < 2 or has_fields_of_tokens(request.payload):
        yield frame
        return
    for at, character in enumerate(arguments):
        piece = orjson.loads(orjson.dumps(chunk))
        call = calls_in(piece)[0]
        call["function"]["arguments"] = character
        if at:
            piece["choices"][0]["delta"]["tool_calls"] = [
                {"index": call.get("index"), "function": {"arguments": character}}
            ]
        yield write_chunk(piece)


def _order_choices(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Yield the chunks of each choice after those of the choice before it, unless they count what was sent so far."""
    number = request.payload.get("n") or 1
    chunk = read_chunk(frame)
    choice = None if chunk.get("usage") else only_choice(chunk)
    held: dict[Any, list[bytes]] = request.state.setdefault("held", {})
    if number == 1 or choice is None:
        yield from (waiting for index in sorted(held) for waiting in held.pop(index))
        yield frame
        return
    index, current = choice.get("index"), request.state.setdefault("current", 0)
    ended: set[Any] = request.state.setdefault("ended", set())
    if choice.get("finish_reason"):
        ended.add(index)
    if index != current:
        held.setdefault(index, []).append(frame)
        return
    yield frame
    while request.state["current"] in ended:
        request.state["current"] += 1
        yield from held.pop(request.state["current"], [])


def _send_empty_pieces(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Yield a chunk without text after the first chunks of a stream."""
    yield frame
    chunk = read_chunk(frame)
    choice = only_choice(chunk)
    first = not request.state.get("sent")
    if first and choice and not choice.get("finish_reason") and not has_fields_of_tokens(request.payload):
        request.state["sent"] = True
        empty = {name: value for name, value in choice.items() if name != "logprobs"}
        yield write_chunk({**chunk, "choices": [{**empty, "delta": {"role": "assistant", "content": ""}}]})


def _end_without_content(chunk: Json, _request: ServedRequest) -> None:
    choice = only_choice(chunk)
    if choice is not None and choice.get("finish_reason") and not any((choice.get("delta") or {}).values()):
        choice["delta"] = {}


calls_in_single_characters = variation(
    "calls-in-single-characters",
    "The arguments of a streamed call come one character at a time.",
    event=_split_arguments,
    applies_to=has_parameters("tools"),
)
choices_one_after_another = variation(
    "choices-one-after-another",
    "The chunks of a choice come after those of the choice before it.",
    event=_order_choices,
    applies_to=allows(n=2, temperature=1.0, stream=True),
)
empty_pieces_sent = variation(
    "empty-pieces-sent", "The second chunk of a stream has a role and empty text.", event=_send_empty_pieces
)
last_deltas_empty = variation(
    "last-deltas-empty",
    "The delta of the chunk with the finish reason has no fields.",
    chunk=_end_without_content,
    applies_to=has_parameters("stream_options"),
)
