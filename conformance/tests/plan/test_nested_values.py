"""Nested values: both sides of every length, an unknown enum value, and every type that a union excludes."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.plan.scenarios.foreign_words import UNKNOWN
from conformance.plan.scenarios.nested_values import HUGE_INTEGER, values

DOCUMENT: dict[str, Any] = {"components": {"schemas": {"Mode": {"type": "string", "enum": ["auto", "none"]}}}}


def sent(schema: dict[str, Any], verdict: str) -> list[Any]:
    return [value for _, expect, value, _ in values(schema, DOCUMENT) if expect == verdict]


@pytest.mark.parametrize(
    ("schema", "accepted", "refused"),
    [
        ({"type": "string", "minLength": 2, "maxLength": 3}, ["aa", "aaa"], ["a", "aaaa"]),
        ({"type": "string", "maxLength": 100_000}, [], []),
        ({"$ref": "#/components/schemas/Mode"}, [], ["any", "AUTO"]),
        ({"type": "string", "enum": ["any", "auto"]}, [], ["force", "ANY"]),
        ({"type": "string", "enum": ["red"]}, [], [UNKNOWN, "RED"]),
        ({"type": "integer", "minimum": 0, "maximum": 9}, [2.0], []),
        ({"type": "integer", "exclusiveMinimum": 4}, [5.0], [HUGE_INTEGER]),
        ({"type": "array", "maxItems": 1, "items": {"type": "integer"}}, [[1]], [[1, 2], ["1"], [1.5], [None]]),
        ({"type": "object", "properties": {"on": {"type": "boolean"}}}, [], [{"on": {}}]),
        ({"anyOf": [{"type": "integer", "maximum": 9}, {"type": "string"}]}, [2.0], [True, [], {}]),
    ],
)
def test_values_follow_from_the_schema(schema: dict[str, Any], accepted: list[Any], refused: list[Any]) -> None:
    assert (accepted, refused) == (sent(schema, "accept"), sent(schema, "reject"))
