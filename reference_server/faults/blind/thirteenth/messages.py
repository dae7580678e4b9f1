"""Blind faults of conversations: messages that are not read, and instructions that come too early."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import messages_of
from reference_server.faults.blind.validity import GREETING, allows
from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

IN_PARTS: Final = [*GREETING, {"role": "assistant", "content": [{"type": "text", "text": "Hello!"}]}, *GREETING]
LATE: Final = [*GREETING, {"role": "system", "content": "Be short."}, *GREETING]
AT_THE_END: Final = [*GREETING, {"role": "assistant", "content": "Hello!"}]


def _keep(request: ServedRequest, kept: list[Json]) -> None:
    if kept and kept != request.payload.get("messages"):
        request.payload["messages"] = kept


def _drop_last_answer(request: ServedRequest) -> None:
    """Expect a question at the end. Violates messages: an answer may be the last one."""
    messages = messages_of(request.payload)
    if messages and messages[-1].get("role") == "assistant" and not request.payload.get("continue_final_message"):
        _keep(request, messages[:-1])


def _drop_answers_in_parts(request: ServedRequest) -> None:
    """Read the text of answers as a string. Violates content: a string or a list of parts."""
    messages = messages_of(request.payload)
    _keep(request, [message for message in messages if not _is_answer_in_parts(message)])


def _is_answer_in_parts(message: Json) -> bool:
    return message.get("role") == "assistant" and isinstance(message.get("content"), list)


def _drop_earlier_questions(request: ServedRequest) -> None:
    """Let roles alternate. Violates messages: several of the user may follow each other."""
    messages = messages_of(request.payload)
    following: list[Any] = [*(message.get("role") for message in messages[1:]), None]
    pairs = zip(messages, following, strict=False)
    _keep(request, [message for message, role in pairs if message.get("role") != "user" or role != "user"])


def _move_instructions(request: ServedRequest) -> None:
    """Satisfy a template that wants instructions first. Violates messages: their order."""
    messages = messages_of(request.payload)
    _keep(request, sorted(messages, key=lambda message: message.get("role") != "system"))


last_answers_unread = hooked_fault(
    "last-answers-unread",
    "If a conversation ends with a message of the assistant, this message does not reach the model.",
    request=_drop_last_answer,
    applies_to=allows(messages=AT_THE_END),
)
answers_in_parts_unread = hooked_fault(
    "answers-in-parts-unread",
    "Messages of the assistant that are lists of parts do not reach the model.",
    request=_drop_answers_in_parts,
    applies_to=allows(messages=IN_PARTS),
)
questions_in_a_row_unread = hooked_fault(
    "questions-in-a-row-unread",
    "Of several messages of the user that follow each other, only the last one reaches the model.",
    request=_drop_earlier_questions,
    applies_to=allows(messages=[*GREETING, *GREETING]),
)
later_instructions_move_to_the_front = hooked_fault(
    "later-instructions-move-to-the-front",
    "A system message later in a conversation reaches the model in front of all other messages.",
    request=_move_instructions,
    applies_to=allows(messages=LATE),
)
