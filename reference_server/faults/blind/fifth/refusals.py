"""A blind fault of requests that are wrongly refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import messages_of, refusing, when
from reference_server.faults.blind.validity import GREETING, allows

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json

PARTS: Final = [{"type": "text", "text": "Hello."}, {"type": "text", "text": "How are you?"}]
HISTORY: Final = [*GREETING, {"role": "assistant", "content": PARTS}, *GREETING]


def _has_parts_of_the_assistant(sent: Json) -> bool:
    """Whether an assistant message has several parts. The refusal violates messages: content may be such a list."""
    return any(
        message.get("role") == "assistant" and isinstance(message.get("content"), list) and len(message["content"]) > 1
        for message in messages_of(sent)
    )


assistants_in_parts_refused = when(
    "assistants-in-parts-refused",
    "A message of the assistant with several parts is refused.",
    _has_parts_of_the_assistant,
    refusing("messages: the content of an assistant message must be a single text"),
    applies_to=allows(messages=HISTORY),
)
