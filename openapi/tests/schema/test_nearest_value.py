"""Moving numbers into the range of a schema."""

from __future__ import annotations

from typing import Any

import pytest

from openapi.schema.nearest_value import nearest_value


@pytest.mark.parametrize(
    ("schema", "value", "nearest"),
    [
        ({"type": "number", "maximum": 1.5}, 2.0, 1.5),
        ({"type": "number", "minimum": 0.5}, 0, 0.5),
        ({"type": "number", "exclusiveMaximum": 2.0}, 2.0, 1.99),
        ({"type": "integer", "exclusiveMinimum": 0}, 0, 1),
        ({"type": "number", "minimum": 0.0, "maximum": 2.0}, 0.7, 0.7),
        ({"type": "boolean"}, True, True),
        ({"type": "string"}, "text", "text"),
        ({}, None, None),
    ],
)
def test_a_number_moves_to_the_nearest_value_in_range(schema: dict[str, Any], value: Any, nearest: Any) -> None:
    assert nearest_value(schema, value) == nearest
