"""Blind faults at limits: schemas without properties, and temperatures that are null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import when
from reference_server.faults.blind.tool_recipes import functions_of
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.request_edits import failed, null_as

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json

BARE: Final[Json] = {**NO_TOOL, "function": {"name": "wait", "parameters": {"type": "object"}}}


def _lacks_properties(sent: Json) -> bool:
    schemas: list[Any] = [function.get("parameters") for function in functions_of(sent)]
    return any(isinstance(schema, dict) and "properties" not in schema for schema in schemas)


def _has_null_temperature(sent: Json) -> bool:
    return "temperature" in sent and sent["temperature"] is None


# Violates parameters: a schema, which need not have properties.
objects_without_properties_fail = when(
    "objects-without-properties-fail",
    "A tool whose parameters have no `properties`, not even empty ones, gets a 500.",
    _lacks_properties,
    failed,
    applies_to=allows(tools=[BARE]),
)
# Violates temperature: its default if it is null.
null_temperatures_are_greedy = when(
    "null-temperatures-are-greedy",
    "A temperature of null has the effect of 0.",
    _has_null_temperature,
    null_as("temperature", 0),
    applies_to=allows(temperature=None),
)
