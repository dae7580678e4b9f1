"""Blind faults of tools: values of arguments that a parser converts, and modes of a choice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import when
from reference_server.faults.blind.tool_recipes import arguments_fault
from reference_server.faults.blind.validity import NO_TOOL, allows

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

NOTHING: Final = frozenset({"null", "none", "nil"})
ALTERNATIVES: Final = ("anyOf", "oneOf")
CUSTOM: Final = {"type": "custom", "custom": {"name": "note"}}
MAY_CALL: Final = {
    "type": "allowed_tools",
    "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "wait"}}]},
}


def _is_nothing(value: Any) -> bool:
    return isinstance(value, str) and value.lower() in NOTHING


def _make_null(arguments: str, _schemas: Json) -> str:
    """Infer the type from the value. Violates function.parameters: a string."""
    values: Json = json.loads(arguments)
    if not any(map(_is_nothing, values.values())):
        return arguments
    changed = {name: None if _is_nothing(value) else value for name, value in values.items()}
    return json.dumps(changed, ensure_ascii=False)


def _has_alternatives(schema: Any) -> bool:
    return isinstance(schema, dict) and any(keyword in schema for keyword in ALTERNATIVES)


def _keep_quotes(arguments: str, schemas: Json) -> str:
    """Take the literal of a grammar for its value. Violates function.parameters: the value of a constant."""
    values: Json = json.loads(arguments)
    quoted = {
        name: f'"{value}"' if isinstance(value, str) and _has_alternatives(schemas.get(name)) else value
        for name, value in values.items()
    }
    return arguments if quoted == values else json.dumps(quoted, ensure_ascii=False)


def _may_call(sent: Json) -> bool:
    choice = sent.get("tool_choice")
    allowed = choice.get("allowed_tools") if isinstance(choice, dict) else None
    return isinstance(allowed, dict) and allowed.get("mode") == "auto"


def _demand_call(request: ServedRequest) -> None:
    request.payload["tool_choice"]["allowed_tools"]["mode"] = "required"


words_for_nothing_become_null = arguments_fault(
    "words-for-nothing-become-null",
    "Arguments of plain answers that are one of the strings null, none and nil are null.",
    _make_null,
)
strings_of_alternatives_in_quotes = arguments_fault(
    "strings-of-alternatives-in-quotes",
    "In plain answers, a string argument whose schema has anyOf or oneOf contains quotes around its value.",
    _keep_quotes,
)
# Violates mode: with auto, the model may answer with text. MindIE's schema accepts any object as tool_choice, and its
# server refuses this one: it has no custom tools either.
allowed_tools_are_demanded = when(
    "allowed-tools-are-demanded",
    "A tool_choice of allowed_tools with the mode auto has the effect of required.",
    _may_call,
    _demand_call,
    applies_to=allows(tools=[NO_TOOL, CUSTOM], tool_choice=MAY_CALL),
)
