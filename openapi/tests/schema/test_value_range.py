"""Value ranges: schemas are compared by the values that they accept, not by how they are written."""

from __future__ import annotations

from typing import Any

import pytest

from openapi.schema.value_range import compare_ranges, value_range


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"type": "integer", "minimum": 1}, {"type": "integer", "exclusiveMinimum": 0}, []),
        ({"type": "number", "minimum": 1}, {"type": "number", "exclusiveMinimum": 0}, [("minimum", "wider")]),
        ({"type": "string"}, {"enum": ["a"]}, [("values", "narrower")]),
        ({"enum": ["a", "b"]}, {"enum": ["b", "c"]}, [("values", "narrower"), ("values", "wider")]),
        ({"const": "a"}, {"type": "string"}, [("values", "wider")]),
        ({"type": "boolean"}, {"enum": [False]}, [("values", "narrower")]),
        ({"type": "array", "items": {}}, {"type": "array", "items": {}, "minItems": 1}, [("minItems", "narrower")]),
        (
            {"type": "string", "minLength": 1},
            {"anyOf": [{"type": "string", "minLength": 1}, {"const": ""}]},
            [("minLength", "wider")],
        ),
        ({"type": "number"}, {"type": "integer"}, [("type", "narrower")]),
        ({"anyOf": [{"type": "string", "maxLength": 3}, {"type": "string"}]}, {"type": "string"}, []),
        ({"oneOf": [{"const": 1}], "anyOf": [{"const": 2}]}, {"enum": [1, 2]}, []),
        (
            {"type": ["integer", "null"]},
            {"type": "string"},
            [("null", "narrower"), ("type", "narrower"), ("type", "wider")],
        ),
        ({}, {"type": "string"}, [("null", "narrower"), *[("type", "narrower")] * 4]),
        ({"properties": {}}, {"properties": {}, "additionalProperties": False}, [("additionalProperties", "narrower")]),
        ({"$ref": "#/components/schemas/S"}, {"type": "string", "maxLength": 3}, []),
        ({"type": "integer", "not": {"const": 0}}, {"type": "integer"}, [("not", "wider")]),
    ],
    ids=str,
)
def test_ranges_are_compared_by_their_values(old: Any, new: Any, expected: list[tuple[str, str]]) -> None:
    schemas = {"S": {"type": "string", "maxLength": 3}}
    changes = compare_ranges(value_range([old], schemas), value_range([new], schemas))
    assert [(change.what, str(change.direction)) for change in changes] == expected
