"""Schemas that the grammar compiler does not support are written with other keywords, for the same values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from reference_server.engine import UnusableGrammar
from reference_server.request.response_format import text_grammar
from reference_server.request.schema_rewriting import MOST_VALUES, rewrite
from reference_server.tests.request.test_response_format import answer, answer_text, schema

if TYPE_CHECKING:
    from reference_server.engine import LocalEngine

DECIMAL = r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"
NAMED = {"propertyNames": {"enum": ["a", "b"]}, "additionalProperties": {"const": 1}}
REWRITTEN: list[tuple[dict[str, Any], list[Any], list[Any]]] = [
    ({"type": "object", **NAMED}, [{}, {"a": 1}, {"b": 1, "a": 1}], [{"c": 1}, {"a": 2}]),
    (
        {"type": "object", "properties": {"a": {"const": 2}, "c": {}}, **NAMED},
        [{"a": 2}, {"b": 1}],
        [{"a": 1}, {"c": 1}],
    ),
    (
        {"type": "object", "propertyNames": {"pattern": "^x"}, "additionalProperties": {"const": 1}},
        [{"x1": 1}],
        [{"y": 1}],
    ),
    ({"type": "object", "propertyNames": {"type": "string"}, "maxProperties": 1}, [{"x": 1}], [{"x": 1, "y": 1}]),
    ({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True}, [[], [1], [2, 1]], [[1, 1], [3]]),
    (
        {
            "type": "array",
            "items": {"$ref": "#/$defs/c"},
            "uniqueItems": True,
            "minItems": 2,
            "$defs": {"c": {"enum": [1, 2]}},
        },
        [[1, 2]],
        [[1], [2, 2]],
    ),
    ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "maxItems": 1}, [[5]], [[5, 5]]),
    ({"type": "array", "items": {"type": "integer"}, "uniqueItems": False}, [[5, 5]], [["5"]]),
    ({"anyOf": [{"not": {}}, {"const": 5}]}, [5], [6]),
    (
        {"type": "object", "properties": {"a": {"not": {}}}, "additionalProperties": {"const": 1}},
        [{"b": 1}],
        [{"a": 1}],
    ),
    ({"type": "string", "pattern": DECIMAL}, ["5", "-.5", "+007.", "0"], ["", ".", "+", "5e1", "-."]),
]


@pytest.mark.parametrize(("given", "right", "wrong"), REWRITTEN, ids=lambda value: json.dumps(value)[:40])
def test_a_rewritten_schema_allows_the_same_values(given: dict[str, Any], right: list[Any], wrong: list[Any]) -> None:
    for form in (given, rewrite(given)):
        validator = jsonschema_rs.validator_for(form)
        assert [True] * len(right) == [validator.is_valid(value) for value in right]
        assert [False] * len(wrong) == [validator.is_valid(value) for value in wrong]


@pytest.mark.parametrize("given", [given for given, _, _ in REWRITTEN], ids=lambda given: json.dumps(given)[:40])
def test_an_answer_fits_a_schema_that_had_to_be_rewritten(tiny_engine: LocalEngine, given: dict[str, Any]) -> None:
    short = {**given, **({"maxItems": 2} if "array" in str(given.get("type")) and "maxItems" not in given else {})}
    deltas = answer(tiny_engine, schema(short), temperature=0.0)
    if deltas[-1].finish_reason == "stop":
        jsonschema_rs.validate(given, json.loads(answer_text(deltas)))


@pytest.mark.parametrize(
    "given",
    [
        {"type": "string", "format": "password", "maxLength": 2},
        {"type": "string", "format": "date-time", "enum": ["2026-02-28T10:00:00Z"]},
        {"type": "string", "contentEncoding": "base64", "format": "binary", "maxLength": 2},
    ],
)
def test_formats_that_are_notes_are_not_compiled(tiny_engine: LocalEngine, given: dict[str, Any]) -> None:
    assert "format" not in rewrite(given)
    jsonschema_rs.validate(given, json.loads(answer_text(answer(tiny_engine, schema(given), temperature=0.0))))


@pytest.mark.parametrize(
    "given",
    [
        {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        {"type": "array", "items": {"enum": list(range(MOST_VALUES + 1))}, "uniqueItems": True},
        {"type": "array", "items": {"enum": [1, 1]}, "uniqueItems": True},
        {"type": "object", "propertyNames": {"minLength": 2}},
        {"not": {"type": "string"}},
    ],
)
def test_what_has_no_other_form_is_refused(tiny_engine: LocalEngine, given: dict[str, Any]) -> None:
    assert given == rewrite(given)
    with pytest.raises(UnusableGrammar, match="not supported"):
        answer(tiny_engine, schema(given))


def test_values_and_names_that_look_like_keywords_stay_as_they_are() -> None:
    given = {
        "properties": {"not": {"const": {"not": {}}}, "format": {"enum": [{"format": "x"}]}},
        "default": {"uniqueItems": True},
        "required": ["not"],
    }
    assert given == rewrite(given)


@pytest.mark.parametrize(
    "given", [{"propertyNames": 5}, {"uniqueItems": "x", "items": []}, {"format": {}}, {"pattern": [1]}, {"not": 1}]
)
def test_a_schema_that_is_wrong_is_left_to_the_compiler(given: dict[str, Any]) -> None:
    assert isinstance(rewrite(given), dict)


def test_an_empty_schema_allows_other_json_than_objects() -> None:
    empty, missing = (
        text_grammar({"response_format": {"type": "json_schema", "json_schema": named}})
        for named in ({"name": "a", "schema": {}}, {"name": "a"})
    )
    assert ['"type"' in (grammar or "") for grammar in (empty, missing)] == [False, True]
