"""Move a number into the range that a schema allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from openapi.schema.json_schema import Schema

STEP: Final = 0.01  # distance from an open end of a range of fractions


def nearest_value(schema: Schema, value: Any) -> Any:
    """Return the number in the range of the schema that is nearest to a value, and any other value unchanged.

    Near an open end the result is a rounded number, not the next float, so that it reads well in a report.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    step = 1 if schema.get("type") == "integer" else STEP
    if value < (low := schema.get("minimum", value)):
        value = low
    if value > (high := schema.get("maximum", value)):
        value = high
    if value <= (low := schema.get("exclusiveMinimum", value - 1)):
        value = round(low + step, 6)
    if value >= (high := schema.get("exclusiveMaximum", value + 1)):
        value = round(high - step, 6)
    return value
