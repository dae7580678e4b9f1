"""Blind faults of structured output: enumerated numbers in lists, and references with escapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.recipes import refusing, when
from reference_server.faults.blind.schema_recipes import form_schema_of, parts_of
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

ESCAPE = "~"


def _quote(value: Any) -> Any:
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _quote_items(request: ServedRequest) -> None:
    """Enumerate strings only. Violates json_schema: the answer matches the schema."""
    for part in parts_of(form_schema_of(request.payload)):
        items = part.get("items")
        if isinstance(items, dict) and isinstance(items.get("enum"), list):
            items.pop("type", None)
            items["enum"] = [_quote(value) for value in items["enum"]]


def _has_escaped_reference(sent: Json) -> bool:
    parts = parts_of(form_schema_of(sent))
    return any(ESCAPE in part["$ref"] for part in parts if isinstance(part.get("$ref"), str))


numbers_in_lists_of_forms_quoted = hooked_fault(
    "numbers-in-lists-of-forms-quoted",
    "Numbers that a schema enumerates for the items of a list are strings in structured output.",
    request=_quote_items,
    applies_to=has_parameters("response_format"),
)
# Violates json_schema: a pointer may have escapes.
escaped_references_refused = when(
    "escaped-references-refused",
    "A response_format is refused if a reference in its schema has an escaped character.",
    _has_escaped_reference,
    refusing("response_format: cannot resolve reference"),
    applies_to=has_parameters("response_format"),
)
