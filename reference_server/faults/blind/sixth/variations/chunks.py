"""Variations of streams: calls in one piece, choices that end together, and text in last chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.frame_recipes import (
    calls_in,
    has_fields_of_tokens,
    only_choice,
    read_chunk,
    write_chunk,
)
from reference_server.faults.blind.other_models import model_after
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters, message_of, variation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest


def _merge_calls(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Yield the pieces of a call as one frame, when another frame comes."""
    if has_fields_of_tokens(request.payload):
        yield frame
        return
    held: dict[tuple[Any, Any], Json] = request.state.setdefault("calls", {})
    chunk = read_chunk(frame)
    choice, calls = only_choice(chunk), calls_in(chunk)
    if choice is None or len(calls) != 1 or choice.get("finish_reason"):
        yield from map(write_chunk, held.values())
        held.clear()
        yield frame
        return
    key = (choice.get("index"), calls[0].get("index"))
    if key in held:
        earlier = calls_in(held[key])[0]["function"]
        earlier["arguments"] = earlier.get("arguments", "") + calls[0].get("function", {}).get("arguments", "")
    else:
        held[key] = chunk


def _finish_together(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Yield the last chunks of choices once all of them have ended."""
    number = request.payload.get("n") or 1
    held: list[bytes] = request.state.setdefault("ends", [])
    choice = only_choice(read_chunk(frame))
    if number == 1 or choice is None or not choice.get("finish_reason"):
        yield frame
        return
    held.append(frame)
    if len(held) == number:
        yield from held


def _join_per_token(earlier: Json, last: Json) -> None:
    """Put what two chunks say of each token into the last of them."""
    if earlier.get("token_ids"):
        last["token_ids"] = [*earlier["token_ids"], *(last.get("token_ids") or ())]
    if earlier.get("logprobs"):
        of_last = (last.get("logprobs") or {}).get("content") or ()
        last["logprobs"] = {**earlier["logprobs"], "content": [*earlier["logprobs"]["content"], *of_last]}


def _finish_with_text(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Yield the last text of a choice in the chunk with the finish reason."""
    held: dict[Any, Json] = request.state.setdefault("last", {})
    chunk = read_chunk(frame)
    choice = only_choice(chunk)
    if choice is None or "full_text" in chunk or calls_in(chunk):
        yield from map(write_chunk, held.values())
        held.clear()
        yield frame
        return
    earlier = held.pop(choice.get("index"), None)
    if not choice.get("finish_reason"):
        if earlier is not None:
            yield write_chunk(earlier)
        held[choice.get("index")] = chunk
        return
    earlier_choice = only_choice(earlier or {})
    if earlier_choice is not None:
        said = {name: value for name, value in message_of(choice).items() if value}
        choice["delta"] = {**message_of(earlier_choice), **said}
        _join_per_token(earlier_choice, choice)
    if earlier is not None:
        chunk = {**earlier, **chunk}
    yield write_chunk(chunk)


calls_in_one_piece = variation(
    "calls-in-one-piece",
    "A call of a stream comes in one chunk, with all of its arguments.",
    event=_merge_calls,
    applies_to=has_parameters("tools"),
)
choices_finish_together = variation(
    "choices-finish-together",
    "The last chunks of several choices come at the end of the stream.",
    event=_finish_together,
    applies_to=allows(n=2, temperature=1.0, stream=True),
)
last_chunks_have_text = variation(
    "last-chunks-have-text", "The chunk with the finish reason has the last text too.", event=_finish_with_text
)
model_after_a_recipe = model_after(
    "model-after-a-recipe",
    "The model answers after a conversation about a recipe.",
    "How do I bake bread?",
    "Mix flour, water, salt and yeast, and wait.",
)
