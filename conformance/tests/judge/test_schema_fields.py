"""Test that only fields without a property in the schema are returned."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge.schema_fields import unknown_fields
from openapi.description.schema_outline import SchemaOutline

SCHEMAS: dict[str, Any] = {
    "Answer": {
        "properties": {
            "id": {"type": "string"},
            "choices": {"type": "array", "items": {"$ref": "#/components/schemas/Choice"}},
            "usage": {"anyOf": [{"$ref": "#/components/schemas/Usage"}, {"type": "null"}]},
            "free": {"type": "object"},
        }
    },
    "Choice": {"properties": {"index": {"type": "integer"}}},
    "Usage": {"properties": {"total": {"type": "integer"}}},
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"id": "a", "choices": [{"index": 0}], "usage": {"total": 1}}, []),
        ({"x": 1}, ["x"]),
        ({"choices": [{"index": 0, "x": 1}, {"x": 2}]}, ["choices[].x"]),
        ({"usage": {"x": {"y": 1}}}, ["usage.x"]),
        ({"usage": None}, []),
        ({"free": {"x": 1}}, []),
        ([], []),
        ("text", []),
    ],
)
def test_fields_without_a_property_are_returned(value: Any, expected: list[str]) -> None:
    assert expected == unknown_fields(SchemaOutline(SCHEMAS, [SCHEMAS["Answer"]]), value)
