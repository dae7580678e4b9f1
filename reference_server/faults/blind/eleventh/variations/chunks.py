"""Variations of streams: groups of pieces, and thoughts in one chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.frame_recipes import (
    has_fields_of_tokens,
    only_choice,
    read_chunk,
    write_chunk,
)
from reference_server.faults.blind.thought_recipes import thoughts_of
from reference_server.faults.decorators import choices_of, has_parameters, message_of, variation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest

GROUPS: Final = (2, 1, 4, 3)


def _has_only(choice: Json, name: str) -> bool:
    others = [field for field, value in message_of(choice).items() if value and field not in ("role", name)]
    return bool(message_of(choice).get(name)) and not (others or choice.get("finish_reason") or choice.get("logprobs"))


def _merge(earlier: Json, chunk: Json, name: str) -> Json:
    first, second = next(choices_of(earlier)), next(choices_of(chunk))
    said = {**message_of(first), name: message_of(first)[name] + message_of(second)[name]}
    return {**earlier, **chunk, "choices": [{**first, **second, "delta": said}]}


def _group_pieces(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    chunk = read_chunk(frame)
    choice = only_choice(chunk)
    held: dict[Any, tuple[Json, int]] = request.state.setdefault("held", {})
    is_text = choice is not None and "full_text" not in chunk and _has_only(choice, "content")
    if choice is None or not is_text or has_fields_of_tokens(request.payload):
        yield from (write_chunk(earlier) for earlier, _ in held.values())
        held.clear()
        yield frame
        return
    index = choice.get("index")
    earlier, count = held.pop(index, (None, 0))
    merged = chunk if earlier is None else _merge(earlier, chunk, "content")
    groups: dict[Any, int] = request.state.setdefault("groups", {})
    if count + 1 < GROUPS[groups.get(index, 0) % len(GROUPS)]:
        held[index] = (merged, count + 1)
    else:
        groups[index] = groups.get(index, 0) + 1
        yield write_chunk(merged)


def _hold_thoughts(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    chunk = read_chunk(frame)
    choice = only_choice(chunk)
    held: dict[Any, Json] = request.state.setdefault("held", {})
    thoughts = thoughts_of(message_of(choice)) if choice is not None else None
    if choice is None or has_fields_of_tokens(request.payload):
        yield from (write_chunk(earlier) for earlier in held.values())
        held.clear()
        yield frame
        return
    earlier = held.pop(choice.get("index"), None)
    if thoughts and "full_text" not in chunk and _has_only(choice, thoughts[0]):
        held[choice.get("index")] = chunk if earlier is None else _merge(earlier, chunk, thoughts[0])
        return
    if earlier is not None:
        yield write_chunk(earlier)
    yield frame


pieces_in_uneven_groups = variation(
    "pieces-in-uneven-groups", "Chunks have one to four pieces of text, as if they were drafts.", event=_group_pieces
)
thoughts_sent_at_once = variation(
    "thoughts-sent-at-once",
    "The whole reasoning of a choice comes in one chunk.",
    event=_hold_thoughts,
    applies_to=has_parameters("chat_template_kwargs"),
)
