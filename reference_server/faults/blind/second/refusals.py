"""Blind faults of requests that are wrongly refused, or wrongly answered."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import messages_of, refusing, when
from reference_server.faults.blind.tool_recipes import functions_of
from reference_server.faults.blind.validity import GREETING, allows

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

TOOL: Final = {"type": "function", "function": {"name": "note", "description": "Take a note", "parameters": {}}}
HISTORY: Final = [*GREETING, {"role": "assistant", "content": "Hi"}]


def _roles(sent: Json) -> list[Any]:
    return [message.get("role") for message in messages_of(sent)]


def _has_late_instructions(sent: Json) -> bool:
    roles = _roles(sent)
    return any(role == "system" and before not in (None, "system") for before, role in pairwise([None, *roles]))


def _has_doubled_role(sent: Json) -> bool:
    return any(before == role and role in ("user", "assistant") for before, role in pairwise(_roles(sent)))


def _unknown_choice(sent: Json) -> bool:
    choice = sent.get("tool_choice")
    named = choice.get("function") if isinstance(choice, dict) else None
    known = {function.get("name") for function in functions_of(sent)}
    return isinstance(named, dict) and bool(known) and named.get("name") not in known


def _forget_choice(request: ServedRequest) -> None:
    del request.payload["tool_choice"]


def _is_text(part: Any) -> bool:
    return not isinstance(part, dict) or part.get("type") == "text"


def _drop_pictures(request: ServedRequest) -> None:
    for message in messages_of(request.payload):
        if isinstance(message.get("content"), list):
            message["content"] = [part for part in message["content"] if _is_text(part)] or ""


def _has_pictures(sent: Json) -> bool:
    contents = (message.get("content") for message in messages_of(sent))
    return any(not _is_text(part) for parts in contents if isinstance(parts, list) for part in parts)


late_instructions_refused = when(
    "late-instructions-refused",
    "A system message after another message is refused.",
    _has_late_instructions,
    refusing("System message must be at the beginning."),
    applies_to=allows(messages=[*HISTORY, {"role": "system", "content": "Be brief."}, *GREETING]),
)
repeated_roles_refused = when(
    "repeated-roles-refused",
    "Two messages of the user, or two of the assistant, in a row are refused.",
    _has_doubled_role,
    refusing("Conversation roles must alternate user/assistant/user/assistant/..."),
    applies_to=allows(messages=[*GREETING, *GREETING]),
)
developers_refused = when(
    "developers-refused",
    "The role developer is refused.",
    lambda sent: "developer" in _roles(sent),
    refusing("Unexpected message role."),
    applies_to=allows(messages=[{"role": "developer", "content": "Be brief."}, *GREETING]),
)
names_in_messages_refused = when(
    "names-in-messages-refused",
    "A message with a `name` is refused.",
    lambda sent: any("name" in message and message.get("role") != "tool" for message in messages_of(sent)),
    refusing("name is not supported"),
    applies_to=allows(messages=[{**GREETING[0], "name": "tom"}]),
)
unknown_choices_ignored = when(
    "unknown-choices-ignored",
    "A tool_choice that names an unknown function is ignored.",
    _unknown_choice,
    _forget_choice,
    applies_to=allows(tools=[TOOL], tool_choice={"type": "function", "function": {"name": "note"}}),
)
pictures_ignored = when(
    "pictures-ignored",
    "Pictures in messages are ignored, although the model cannot see them.",
    _has_pictures,
    _drop_pictures,
)
