"""Members: only those that no property stands for are told."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge.unknown_fields import unknown_members

DOCUMENT: dict[str, Any] = {
    "components": {
        "schemas": {
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
    }
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
def test_members_that_no_property_stands_for_are_told(value: Any, expected: list[str]) -> None:
    assert expected == unknown_members(DOCUMENT, "Answer", value)
