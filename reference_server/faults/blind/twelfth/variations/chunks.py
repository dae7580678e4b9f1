"""Variations of streams: how pieces of text are cut, and reasoning that is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.frame_recipes import has_fields_of_tokens, only_choice, read_chunk, write_chunk
from reference_server.faults.blind.thought_recipes import thoughts_of
from reference_server.faults.decorators import choices_of, has_parameters, message_of, variation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest

TOGETHER: Final = 5


def _text_of(chunk: Json, choice: Json | None) -> str:
    """Return the text of a chunk that has nothing else, of a choice that goes on."""
    if choice is None or choice.get("finish_reason") or choice.get("logprobs") or "full_text" in chunk:
        return ""
    said = message_of(choice)
    others = [name for name, value in said.items() if value and name not in ("role", "content")]
    return said["content"] if isinstance(said.get("content"), str) and not others else ""


def _with_text(chunk: Json, choice: Json, text: str) -> bytes:
    return write_chunk({**chunk, "choices": [{**choice, "delta": {**message_of(choice), "content": text}}]})


def _cut_at_spaces(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Yield the white space at the end of a piece by itself."""
    chunk = read_chunk(frame)
    choice = only_choice(chunk)
    text = _text_of(chunk, choice)
    word = text.rstrip()
    if choice is None or not word or word == text or has_fields_of_tokens(request.payload):
        yield frame
        return
    yield _with_text(chunk, choice, word)
    yield _with_text(chunk, choice, text[len(word) :])


def _begin_at_once(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Yield the first pieces of a choice in one chunk, and all others as they are."""
    chunk = read_chunk(frame)
    choice = only_choice(chunk)
    held: dict[Any, tuple[Json, Json, str]] = request.state.setdefault("held", {})
    pieces: dict[Any, int] = request.state.setdefault("pieces", {})
    text = _text_of(chunk, choice)
    if choice is None or not text or has_fields_of_tokens(request.payload):
        waiting = list(held) if choice is None else [index for index in held if index == choice.get("index")]
        yield from (_with_text(*held.pop(index)) for index in waiting)
        yield frame
        return
    index = choice.get("index")
    pieces[index] = pieces.get(index, 0) + 1
    if pieces[index] > TOGETHER:
        yield frame
        return
    first, said, begun = held.pop(index, (chunk, choice, ""))
    if pieces[index] < TOGETHER:
        held[index] = (first, said, begun + text)
    else:
        yield _with_text(first, said, begun + text)


def _empty_thoughts(chunk: Json, request: ServedRequest) -> None:
    names: dict[Any, str] = request.state.setdefault("names", {})
    for choice in choices_of(chunk):
        said = message_of(choice)
        thoughts = thoughts_of(said)
        if thoughts:
            names[choice.get("index")] = thoughts[0]
        elif said.get("content") and choice.get("index") in names:
            said[names[choice.get("index")]] = ""


spaces_in_chunks_of_their_own = variation(
    "spaces-in-chunks-of-their-own",
    "The white space at the end of a piece of text has a chunk of its own.",
    event=_cut_at_spaces,
)
first_pieces_sent_at_once = variation(
    "first-pieces-sent-at-once", "The first five pieces of text come in one chunk.", event=_begin_at_once
)
empty_thoughts_beside_text = variation(
    "empty-thoughts-beside-text",
    "In streams with reasoning, the deltas of the content have an empty reasoning.",
    chunk=_empty_thoughts,
    applies_to=has_parameters("chat_template_kwargs"),
)
