"""Null is added to any schema, and only null: by its own keywords if they can say so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jsonschema_rs
import pytest

from openapi.contract.contract import load
from openapi.description.validation import Validator
from openapi.schema.null_values import add_null, split_null

COMPONENTS: dict[str, Any] = {"schemas": {"Thing": {"type": "object", "required": ["a"]}}}
THING = {"$ref": "#/components/schemas/Thing"}
VALUES: list[Any] = [None, 0, 1, 2, "a", "b", [], {}, {"a": 1}]


@pytest.mark.parametrize(
    "schema",
    [
        THING,
        {"description": "a thing", **THING},
        {"oneOf": [THING, {"type": "string"}]},
        {"allOf": [THING, {"type": "object"}]},
        {"type": "object", "allOf": [THING]},
        {"anyOf": [THING, {"type": "string"}]},
        {"type": "string", "anyOf": [{"const": "a"}, {"enum": ["b"]}]},
        {"const": "a"},
        {"enum": ["a", 1]},
        {"type": ["integer", "string"], "enum": ["a", 1]},
        {"type": "integer", "minimum": 1, "not": {"const": 2}},
        {"type": "integer", "not": {"enum": [2, None]}},
        {"if": {"type": "string"}, "then": {"const": "a"}, "else": {"type": "integer"}},
        {"oneOf": [THING, {"type": ["string", "null"]}]},
        {},
    ],
    ids=repr,
)
def test_null_is_accepted_and_every_other_value_as_before(schema: dict[str, Any]) -> None:
    before = jsonschema_rs.validator_for({**schema, "components": COMPONENTS})
    after = jsonschema_rs.validator_for({**add_null(schema), "components": COMPONENTS})
    expected = [value is None or before.is_valid(value) for value in VALUES]
    assert expected == [after.is_valid(value) for value in VALUES]
    assert add_null(add_null(schema)) == add_null(schema)


def test_bounds_and_lists_of_types_stay_as_they_are_written() -> None:
    schema = {"type": "number", "minimum": 0, "not": {"const": 1}}
    assert {**schema, "type": ["number", "null"]} == add_null(schema)
    assert (THING, True) == split_null(add_null(THING))


def test_the_description_accepts_null_where_the_contract_demands_it_of_a_named_schema() -> None:
    contract = load("openai")
    known = contract.parameters["prediction"]
    nullable = replace(known, schema=THING, null=replace(known.null, expect="accept"))
    schemas = {**contract.schemas, **COMPONENTS["schemas"]}
    parameters = {**contract.parameters, "prediction": nullable}
    validator = Validator(replace(contract, parameters=parameters, schemas=schemas))
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], "prediction": None}
    assert () == validator.request_problems(body)
