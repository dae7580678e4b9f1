"""Blind faults of streams: names and kinds of chunks, the order of their ends, and pieces of white space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.frame_recipes import only_choice, read_chunk
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest


def _name_file(chunk: Json, request: ServedRequest) -> None:
    """Name what an engine has loaded. Violates model: each chunk has the same."""
    if request.event_index > 0 and isinstance(chunk.get("model"), str):
        chunk["model"] = f"/models/{chunk['model']}"


def _send_text_last(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Flush the text after the end. Violates finish_reason: the chunk that has it is the last of a choice."""
    choice = only_choice(read_chunk(frame))
    kept: dict[object, bytes] = request.state.setdefault("kept", {})
    if choice is None:
        yield from kept.values()
        kept.clear()
        yield frame
        return
    earlier = kept.pop(choice.get("index"), b"")
    if choice.get("finish_reason"):
        yield frame
        if earlier:
            yield earlier
        return
    if earlier:
        yield earlier
    if message_of(choice).get("content"):
        kept[choice.get("index")] = frame
    else:
        yield frame


def _drop_blanks(chunk: Json, _request: ServedRequest) -> None:
    """Strip a piece to see whether it is empty. Violates delta.content: the deltas are the answer."""
    for choice in choices_of(chunk):
        said = message_of(choice)
        if isinstance(said.get("content"), str) and said["content"].isspace():
            said["content"] = ""


def _call_it_an_answer(chunk: Json, _request: ServedRequest) -> None:
    """Reuse the object of a plain answer. Violates object, which is chat.completion.chunk."""
    if chunk.get("usage") and not chunk.get("choices"):
        chunk["object"] = "chat.completion"


streams_name_two_models = hooked_fault(
    "streams-name-two-models", "The chunks of a stream after the first one have another model name.", chunk=_name_file
)
last_texts_follow_finish_chunks = hooked_fault(
    "last-texts-follow-finish-chunks",
    "The last piece of text of a choice follows the chunk with its finish reason.",
    event=_send_text_last,
)
blank_pieces_lost_in_streams = hooked_fault(
    "blank-pieces-lost-in-streams", "Pieces of a stream that are white space are empty.", chunk=_drop_blanks
)
usage_chunks_are_answers = hooked_fault(
    "usage-chunks-are-answers",
    "The object of the chunk with the usage is chat.completion.",
    chunk=_call_it_an_answer,
    applies_to=has_parameters("stream_options"),
)
