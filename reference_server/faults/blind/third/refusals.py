"""Blind faults of conversations that are wrongly refused, or for which a server fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import fail, messages_of, refusing, when
from reference_server.faults.blind.thought_recipes import THOUGHTS, thinks
from reference_server.faults.blind.validity import GREETING, allows
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json

INSTRUCTIONS: Final = ("system", "developer")
PARTS: Final = [{"type": "text", "text": "Be brief."}]
REPLY: Final = {"role": "assistant", "content": "Hi"}


def _roles(sent: Json) -> list[Any]:
    return [message.get("role") for message in messages_of(sent)]


def _has_instructions_in_parts(sent: Json) -> bool:
    found = (message for message in messages_of(sent) if message.get("role") in INSTRUCTIONS)
    return any(isinstance(message.get("content"), list) for message in found)


def _has_no_user(sent: Json) -> bool:
    roles = _roles(sent)
    return bool(roles) and "user" not in roles and set(roles) <= {*INSTRUCTIONS, "assistant"}


def _ends_with_assistant(sent: Json) -> bool:
    messages = messages_of(sent)
    return bool(messages) and messages[-1].get("role") == "assistant" and not messages[-1].get("tool_calls")


def _has_empty_call_list(sent: Json) -> bool:
    return any(message.get("role") == "assistant" and message.get("tool_calls") == [] for message in messages_of(sent))


def _calls_without_thoughts(sent: Json) -> bool:
    calling = [message for message in messages_of(sent) if message.get("tool_calls")]
    return thinks(sent) and any(not any(message.get(name) for name in THOUGHTS) for message in calling)


instructions_in_parts_fail = when(
    "instructions-in-parts-fail",
    "A system message whose content is a list of parts gets a 500.",
    _has_instructions_in_parts,
    fail,
    applies_to=allows(messages=[{"role": "system", "content": PARTS}, *GREETING]),
)
no_user_message_fails = when(
    "no-user-message-fails",
    "A conversation without a message of the user gets a 500.",
    _has_no_user,
    fail,
    applies_to=allows(messages=[{"role": "system", "content": "Say hello."}]),
)
last_assistant_refused = when(
    "last-assistant-refused",
    "A conversation that ends with a message of the assistant is refused.",
    _ends_with_assistant,
    refusing("the conversation must end with a user message"),
    applies_to=allows(messages=[*GREETING, REPLY]),
)
empty_call_lists_refused = when(
    "empty-call-lists-refused",
    "A message of the assistant with `tool_calls: []` is refused.",
    _has_empty_call_list,
    refusing("empty tool_calls is not supported in message"),
    applies_to=allows(messages=[*GREETING, {**REPLY, "tool_calls": []}, *GREETING]),
)
calls_without_thoughts_refused = when(
    "calls-without-thoughts-refused",
    "With reasoning, earlier tool calls are refused if their message does not contain the reasoning.",
    _calls_without_thoughts,
    refusing("the reasoning_content in the thinking mode must be passed back"),
    applies_to=has_parameters("tools", "chat_template_kwargs"),
)
