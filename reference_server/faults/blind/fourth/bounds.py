"""Blind faults of schema keywords that limit numbers and arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import fail, is_number, when
from reference_server.faults.blind.schema_recipes import (
    drop_everywhere,
    drop_keywords,
    form_schema_of,
    parts_of,
    schemas_of,
)
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

GREATEST_INT32: Final = 2**31 - 1
GREATEST: Final = 2.0**63
LENGTHS: Final = ("minItems", "maxItems")
RANGES: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def _has(keywords: tuple[str, ...], schema: Json | None) -> bool:
    return any(keyword in part for part in parts_of(schema) for keyword in keywords)


def _limits_arrays(sent: Json) -> bool:
    return any(_has(LENGTHS, schema) for schema in schemas_of(sent))


def _drop_lengths(request: ServedRequest) -> None:
    drop_everywhere(request, *LENGTHS)


def _drop_ranges(request: ServedRequest) -> None:
    drop_keywords(form_schema_of(request.payload), *RANGES)


def _has_large_maximum(sent: Json) -> bool:
    parts = (part for schema in schemas_of(sent) for part in parts_of(schema))
    return any(is_number(part.get("maximum"), GREATEST_INT32 + 1, GREATEST) for part in parts)


array_lengths_ignored = when(
    "array-lengths-ignored",
    "minItems and maxItems in schemas are ignored.",
    _limits_arrays,
    _drop_lengths,
    applies_to=has_parameters("tools"),
)
ranges_ignored_in_forms = when(
    "ranges-ignored-in-forms",
    "The least and greatest numbers in a schema of response_format are ignored.",
    lambda sent: _has(RANGES, form_schema_of(sent)),
    _drop_ranges,
    applies_to=has_parameters("response_format"),
)
large_maximums_fail = when(
    "large-maximums-fail",
    "A schema with a maximum above 2^31 - 1 gets a 500.",
    _has_large_maximum,
    fail,
    applies_to=has_parameters("tools"),
)
