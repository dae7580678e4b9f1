"""`x-server-limits`: a description publishes the bounds of the document; our own server also enforces its limits."""

from __future__ import annotations

from typing import Any

import pytest

from openapi.contract.contract import load
from openapi.description.description import REQUEST, describe
from openapi.description.validation import Validator
from openapi.schema.server_limits import SERVER_LIMITS, apply_limits

GREETING = [{"role": "user", "content": "Hello!"}]


def test_limits_are_merged_at_any_depth_and_add_to_the_schema() -> None:
    schema: dict[str, Any] = {
        "anyOf": [
            {"type": "string", SERVER_LIMITS: {"minLength": 1, "x-source": "a#b"}},
            {
                "type": "array",
                "items": {"enum": [1, 2, 3], SERVER_LIMITS: {"enum": [1, 2, 4]}},
                SERVER_LIMITS: {"maxItems": 4},
            },
        ],
        "description": "kept",
        SERVER_LIMITS: {"required": ["a"], "properties": {"a": {"type": "integer"}}, "description": None},
    }
    assert apply_limits(schema) == {
        "anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "items": {"enum": [1, 2]}, "maxItems": 4},
        ],
        "required": ["a"],
        "properties": {"a": {"type": "integer"}},
    }
    assert schema["anyOf"][0] == {"type": "string", SERVER_LIMITS: {"minLength": 1, "x-source": "a#b"}}


@pytest.mark.parametrize(
    ("stated", "limit", "expected"),
    [
        ({"maximum": 1.5}, {"maximum": 2}, {"maximum": 1.5}),
        ({"maximum": 3}, {"maximum": 2}, {"maximum": 2}),
        ({"minimum": 1}, {"minimum": 0}, {"minimum": 1}),
        ({"minLength": 1}, {"minLength": 2}, {"minLength": 2}),
    ],
)
def test_a_limit_of_the_server_never_loosens_the_bound_of_the_document(
    stated: dict[str, Any], limit: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert expected == apply_limits({**stated, SERVER_LIMITS: limit})


@pytest.mark.parametrize(
    ("dialect", "name", "value"),
    [
        ("ovms-2024", "temperature", 2.5),
        ("ovms-2024", "n", 25),
        ("ovms-2024", "best_of", 20),
        ("ovms-2024", "seed", 2**32),
        ("ovms-2024", "top_k", -2),
        ("mindie-2.3", "stop", "x" * 1025),
        ("mindie-2.3", "stop", ["stop"] * 1025),
        ("siliconstorm", "messages", [{"role": "user", "content": ""}]),
        ("mindie-2.3", "messages", [{"role": "user", "content": [{"text": "Hello"}]}]),
        ("mindie-1.0", "messages", [{"role": "user", "content": [{"type": "text"}]}]),
    ],
)
def test_the_published_schema_allows_what_only_our_own_server_refuses(dialect: str, name: str, value: Any) -> None:
    contract = load(dialect)
    body = {"model": "m", "messages": GREETING, "best_of": 30, "n": 1, name: value} if name == "n" else None
    body = body or {"model": "m", "messages": GREETING, name: value}
    assert Validator(contract).request_problems(body) == ()
    assert {problem.parameter for problem in Validator(contract.with_server_limits()).request_problems(body)} >= {name}


def test_the_description_names_the_limits_as_those_of_the_server() -> None:
    temperature = describe(load("ovms-2024"))["components"]["schemas"][REQUEST]["properties"]["temperature"]
    assert "maximum" not in temperature
    assert temperature[SERVER_LIMITS] == {"minimum": 0.0, "maximum": 2.0, "x-source": "ovms-source#temperature"}
