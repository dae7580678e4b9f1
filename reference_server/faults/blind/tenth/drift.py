"""Blind faults that show now and then: pieces that are sent again, and answers without usage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.frame_recipes import only_choice, read_chunk
from reference_server.faults.blind.recipes import every, per_server
from reference_server.faults.decorators import message_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest

REPEATED_EVERY: Final = 5
UNCOUNTED_EVERY: Final = 6
REPEATED_PIECE: Final = 2


def _make_repetition() -> Hooks:
    """Send a part of a buffer again. Violates delta.content: the deltas are the answer."""
    is_turn = every(REPEATED_EVERY)

    def choose(request: ServedRequest) -> None:
        request.state["repeats"] = request.payload.get("stream") is True and is_turn()

    def repeat(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
        yield frame
        choice = only_choice(read_chunk(frame))
        if choice is not None and message_of(choice).get("content") and not choice.get("finish_reason"):
            request.state["pieces"] = request.state.get("pieces", 0) + 1
            if request.state["repeats"] and request.state["pieces"] == REPEATED_PIECE:
                yield frame

    return Hooks(request=choose, event=repeat)


def _make_omission() -> Hooks:
    """Send before the count is known. Violates usage, which every plain answer has."""
    is_turn = every(UNCOUNTED_EVERY)

    def omit(answer: Json, _request: ServedRequest) -> None:
        if is_turn():
            answer.pop("usage", None)

    return Hooks(answer=omit)


every_fifth_stream_repeats_a_piece = per_server(
    "every-fifth-stream-repeats-a-piece", "Every fifth stream sends its second piece of text twice.", _make_repetition
)
every_sixth_answer_lacks_usage = per_server(
    "every-sixth-answer-lacks-usage", "Every sixth plain answer has no usage.", _make_omission
)
