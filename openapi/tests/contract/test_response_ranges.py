"""Schemas of responses state what follows from the type of a field. What a field should be is judged by checks."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from openapi.contract.contract import Contract, load, names

if TYPE_CHECKING:
    from collections.abc import Iterator

DIALECTS = tuple(sorted(set(names().values())))
RANGES = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("minLength", "maxLength", "minItems", "maxItems"),
)
ALLOWED = {  # (field, keyword): a value outside it cannot be what the document says the field is
    ("choices", "minItems"),
    ("index", "minimum"),
    ("prompt_tokens", "minimum"),
    ("completion_tokens", "minimum"),
    ("total_tokens", "minimum"),
    ("bytes", "minimum"),
    ("bytes", "maximum"),
    ("top_logprobs", "maxItems"),
}


def response_schemas(contract: Contract) -> set[str]:
    """Return the names of the schemas that responses and chunks consist of."""
    found, remaining = set(), ["ChatCompletion", "ChatCompletionChunk"]
    while remaining:
        name = remaining.pop()
        if name in contract.schemas and name not in found:
            found.add(name)
            remaining += re.findall(r"#/components/schemas/(\w+)", json.dumps(contract.schemas[name]))
    return found


def ranges(schema: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Yield the field and the keyword of each range, without those that are our own server's."""
    if isinstance(schema, list):
        for item in schema:
            yield from ranges(item, field)
    if not isinstance(schema, dict):
        return
    yield from ((field, keyword) for keyword in RANGES if keyword in schema)
    for name, item in schema.get("properties", {}).items():
        yield from ranges(item, name)
    for key, item in schema.items():
        if key not in ("properties", "x-server-limits"):
            yield from ranges(item, field)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_schema_of_a_response_has_no_range_that_only_should_hold(dialect: str) -> None:
    contract = load(dialect)
    found = {place for name in response_schemas(contract) for place in ranges(contract.schemas[name])}
    assert found <= ALLOWED
