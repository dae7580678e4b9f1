"""Blind faults of conversations: tags of reasoning in questions, and earlier refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.body_recipes import parts_of
from reference_server.faults.blind.recipes import refusing, when
from reference_server.faults.blind.validity import GREETING, allows
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

END: Final = "</think>"
REFUSED: Final = [
    *GREETING,
    {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    *GREETING,
]


def _cut_questions(request: ServedRequest) -> None:
    """Remove the reasoning of every message. Violates messages.content: the text of the user."""
    for message in text_messages(request):
        if message.get("role") == "user" and END in message["content"]:
            message["content"] = message["content"].rpartition(END)[2]


def _has_refusal(sent: Json) -> bool:
    return any(part.get("type") == "refusal" for part in parts_of(sent))


closing_tags_cut_questions = hooked_fault(
    "closing-tags-cut-questions",
    "If a message of the user contains </think>, only the text after it reaches the model.",
    request=_cut_questions,
)
# Violates messages.content: a message of the assistant may consist of a refusal.
parts_of_refusals_refused = when(
    "parts-of-refusals-refused",
    "A conversation is refused if an earlier answer has a part that is a refusal.",
    _has_refusal,
    refusing("messages.content.type: expected text"),
    applies_to=allows(messages=REFUSED),
)
