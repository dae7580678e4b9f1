"""Blind faults of structured output: patterns with alternatives, and lists without items."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.recipes import when
from reference_server.faults.blind.schema_recipes import form_schema_of, parts_of
from reference_server.faults.decorators import choice_fault, has_parameters, message_of
from reference_server.faults.request_edits import failed

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _has_alternatives(pattern: Any) -> bool:
    """Whether a regular expression has alternatives outside all groups."""
    depth = 0
    for sign in re.findall(r"\\.|\[(?:\\.|[^\]])*\]|.", pattern if isinstance(pattern, str) else "", re.DOTALL):
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and depth == 0:
            return True
    return False


def _unquote(choice: Json, request: ServedRequest) -> None:
    """Put no group between the quotes. Violates response_format: the content is JSON."""
    said, schema = message_of(choice), form_schema_of(request.payload) or {}
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, dict) else ():
        if isinstance(part, dict) and _has_alternatives(part.get("pattern")) and isinstance(said.get("content"), str):
            value = rf'("{re.escape(name)}"\s*:\s*"[^"\\]*)"'
            said["content"] = re.sub(value, r"\1", said["content"])


def _has_empty_list(sent: Json) -> bool:
    return any(part.get("maxItems") == 0 for part in parts_of(form_schema_of(sent)))


patterns_with_alternatives_break_json = choice_fault(
    "patterns-with-alternatives-break-json",
    _unquote,
    "In plain answers, a string lacks its last quote if its pattern in response_format has alternatives.",
    streamed=False,
    applies_to=has_parameters("response_format"),
)
# Violates maxItems, which may be 0.
forms_with_empty_lists_fail = when(
    "forms-with-empty-lists-fail",
    "A response_format whose schema has a list with a maxItems of 0 gets a 500.",
    _has_empty_list,
    failed,
    applies_to=has_parameters("response_format"),
)
