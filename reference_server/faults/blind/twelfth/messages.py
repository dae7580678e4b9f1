"""Blind faults of messages: empty parts, equal messages, fields of earlier answers, and instructions that are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.body_recipes import parts_of
from reference_server.faults.blind.recipes import messages_of, refusing, when
from reference_server.faults.blind.thought_recipes import THOUGHTS
from reference_server.faults.blind.validity import GREETING, allows
from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

EMPTY_PART: Final = [{"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "Hello"}]}]
SENT_BACK: Final = [*GREETING, {"role": "assistant", "content": "Hello!", "refusal": None}, *GREETING]
INSTRUCTED: Final = [{"role": "developer", "content": "Be short."}, *GREETING]


def _has_empty_part(sent: Json) -> bool:
    return any(part.get("type") == "text" and part.get("text") == "" for part in parts_of(sent))


def _key_of(message: Json) -> Any:
    """Return what makes a message equal to another one, or None for one with calls, results or parts."""
    plain = isinstance(message.get("content"), str) and not message.get("tool_calls")
    return (message.get("role"), message["content"]) if plain and message.get("role") != "tool" else None


def _drop_equal_ones(request: ServedRequest) -> None:
    """Find messages by their text. Violates messages: the conversation as it was."""
    messages = messages_of(request.payload)
    keys = [_key_of(message) for message in messages]
    kept = [message for at, message in enumerate(messages) if keys[at] is None or keys[at] not in keys[at + 1 :]]
    if len(kept) < len(messages):
        request.payload["messages"] = kept


def _has_null_refusal(sent: Json) -> bool:
    answers = [message for message in messages_of(sent) if message.get("role") == "assistant"]
    return any(message.get("refusal", "") is None for message in answers)


def _sends_null_refusals(contract: Contract) -> bool:
    return "refusal" in contract.answer.message and allows(messages=SENT_BACK)(contract)


def _has_past_thoughts(sent: Json) -> bool:
    answers = [message for message in messages_of(sent) if message.get("role") == "assistant"]
    return any(isinstance(message.get(name), str) for message in answers for name in THOUGHTS)


def _keeps_thoughts(contract: Contract) -> bool:
    """Whether an earlier answer may contain its reasoning."""
    fields = contract.schemas.get("AssistantMessage", {}).get("properties", {})
    return any(name in fields for name in THOUGHTS)


def _drop_developers(request: ServedRequest) -> None:
    """Render roles that a template knows. Violates role: a developer gives instructions."""
    messages = messages_of(request.payload)
    kept = [message for message in messages if message.get("role") != "developer"]
    if kept and len(kept) < len(messages):
        request.payload["messages"] = kept


# Violates text: a part may be empty.
empty_parts_refused = when(
    "empty-parts-refused",
    "A message with an empty part of text is refused.",
    _has_empty_part,
    refusing("text content blocks must be non-empty"),
    applies_to=allows(messages=EMPTY_PART),
)
equal_messages_collapse = hooked_fault(
    "equal-messages-collapse",
    "Of equal messages in a conversation, only the last one reaches the model.",
    request=_drop_equal_ones,
)
# Violates refusal, which is null in each answer that refuses nothing.
null_refusals_sent_back_refused = when(
    "null-refusals-sent-back-refused",
    "A conversation is refused if an earlier answer has the `refusal` null, as every answer of the server has it.",
    _has_null_refusal,
    refusing("messages.refusal: value is not a string: null"),
    applies_to=_sends_null_refusals,
)
# Violates the reasoning of messages: that of an earlier answer.
past_thoughts_refused = when(
    "past-thoughts-refused",
    "A conversation is refused if an earlier answer has its reasoning.",
    _has_past_thoughts,
    refusing("messages.reasoning: property is unsupported"),
    applies_to=_keeps_thoughts,
)
developers_lost = hooked_fault(
    "developers-lost",
    "Messages of the role developer do not reach the model.",
    request=_drop_developers,
    applies_to=allows(messages=INSTRUCTED),
)
