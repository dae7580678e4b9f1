"""Blind faults that depend on the length of a prompt, an answer or a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import text_length
from reference_server.faults.blind.stream_recipes import streamed_text_fault
from reference_server.faults.decorators import choices_of, hooked_fault, message_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

LONG_PROMPT: Final = 400  # characters
LONG_ANSWER: Final = 80  # tokens
LATE_EVENT: Final = 50
LATE_PIECE: Final = 25
PAGE: Final = (
    b"<html>\r\n<head><title>504 Gateway Time-out</title></head>\r\n<body>\r\n"
    b"<center><h1>504 Gateway Time-out</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)


def _lose_word(answer: Json, request: ServedRequest) -> None:
    """Drop the second word. Violates message.content: the answer, of which usage counts each token."""
    for choice in choices_of(answer) if text_length(request.payload) > LONG_PROMPT else ():
        said = message_of(choice)
        words = said["content"].split(" ") if isinstance(said.get("content"), str) else []
        if len(words) > 2:
            said["content"] = " ".join((words[0], *words[2:]))


def _cut_stream(frame: bytes, request: ServedRequest) -> Iterable[bytes]:
    """Drop late events. Violates stream: it ends with a finish_reason and `[DONE]`."""
    return () if request.event_index > LATE_EVENT else (frame,)


def _note_length(answer: Json, request: ServedRequest) -> None:
    usage = answer.get("usage")
    request.state["late"] = isinstance(usage, dict) and usage.get("completion_tokens", 0) > LONG_ANSWER


def _send_page(body: bytes, request: ServedRequest) -> bytes:
    """Replace a valid answer. Violates the response of a plain request, which has no upper limit but max_tokens."""
    return PAGE if request.state.get("late") else body


def _call_it_late(head: ResponseHead, request: ServedRequest) -> None:
    if request.state.get("late"):
        head.status = 504
        head.headers["content-type"] = "text/html"


def _lose_late_piece(piece: str, state: Json, _request: ServedRequest) -> str:
    """Drop a piece. Violates delta.content: the pieces make up the answer."""
    state["pieces"] = state.get("pieces", 0) + 1
    return "" if state["pieces"] == LATE_PIECE else piece


long_prompts_lose_a_word = hooked_fault(
    "long-prompts-lose-a-word",
    "Plain answers to messages of more than 400 characters lack their second word.",
    answer=_lose_word,
)
long_streams_cut = hooked_fault(
    "long-streams-cut", "A stream ends after 51 events, without a finish_reason and `[DONE]`.", event=_cut_stream
)
long_plain_answers_time_out = hooked_fault(
    "long-plain-answers-time-out",
    "A plain answer of more than 80 tokens is a 504 with an HTML page.",
    answer=_note_length,
    plain=_send_page,
    head=_call_it_late,
)
long_streams_lose_a_piece = streamed_text_fault(
    "long-streams-lose-a-piece", "Streams lack their twenty-fifth piece of text.", _lose_late_piece
)
