"""Blind faults of structured output: characters of constants, whole bounds of numbers, and required names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.recipes import when
from reference_server.faults.blind.schema_recipes import form_schema_of, parts_of
from reference_server.faults.decorators import has_parameters, hooked_fault
from reference_server.faults.request_edits import failed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest


def _constants_of(schema: Json) -> Iterator[str]:
    """Yield the strings that a part of a schema allows."""
    listed = schema.get("enum")
    values: list[Any] = [*(listed if isinstance(listed, list) else ()), schema.get("const")]
    yield from (value for value in values if isinstance(value, str))


def _has_quotes(sent: Json) -> bool:
    return any('"' in constant for part in parts_of(form_schema_of(sent)) for constant in _constants_of(part))


def _unescape(value: Any) -> Any:
    return value.replace("\\", "") if isinstance(value, str) else value


def _lose_backslashes(request: ServedRequest) -> None:
    """Write a literal of a grammar without escapes. Violates json_schema: the answer matches the schema."""
    for part in parts_of(form_schema_of(request.payload)):
        if isinstance(part.get("enum"), list):
            part["enum"] = [_unescape(value) for value in part["enum"]]
        if isinstance(part.get("const"), str):
            part["const"] = _unescape(part["const"])


def _allow_fractions(request: ServedRequest) -> None:
    """Write a rule for the digits in front of the point. Violates json_schema: the maximum of a number."""
    for part in parts_of(form_schema_of(request.payload)):
        greatest = part.get("maximum")
        if part.get("type") == "number" and isinstance(greatest, int) and not isinstance(greatest, bool):
            del part["maximum"]
            part["exclusiveMaximum"] = greatest + 1


def _demand_described_names(request: ServedRequest) -> None:
    """Demand the properties with a schema. Violates json_schema: all names that are required."""
    for part in parts_of(form_schema_of(request.payload)):
        names, properties = part.get("required"), part.get("properties")
        if isinstance(names, list) and isinstance(properties, dict):
            part["required"] = [name for name in names if name in properties]


# Violates json_schema: a constant may be any string.
quotes_in_constants_of_forms_fail = when(
    "quotes-in-constants-of-forms-fail",
    "A response_format with a constant that contains a quote gets a 500.",
    _has_quotes,
    failed,
    applies_to=has_parameters("response_format"),
)
backslashes_in_constants_of_forms_lost = hooked_fault(
    "backslashes-in-constants-of-forms-lost",
    "The answer to a response_format has a constant without its backslashes.",
    request=_lose_backslashes,
    applies_to=has_parameters("response_format"),
)
whole_maximums_exceeded_in_forms = hooked_fault(
    "whole-maximums-exceeded-in-forms",
    "A number with a whole maximum in the schema of response_format may exceed it by a fraction.",
    request=_allow_fractions,
    applies_to=has_parameters("response_format"),
)
names_without_schemas_optional_in_forms = hooked_fault(
    "names-without-schemas-optional-in-forms",
    "A name that is required by the schema of response_format, and has no schema of its own, may be missing.",
    request=_demand_described_names,
    applies_to=has_parameters("response_format"),
)
