"""Property: whatever JSON, schema or grammar a client sends, in whatever place, the answer is never a 5xx."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference_server.tests.app_client import body
from reference_server.tests.scripted_engine import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYWORDS = (
    *("type", "properties", "required", "items", "enum", "const", "anyOf", "allOf", "oneOf", "not", "$ref", "$defs"),
    *("pattern", "format", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "prefixItems"),
    *("additionalProperties", "patternProperties", "propertyNames", "x-guidance", "$id", "$schema", "default"),
)
TYPES = st.sampled_from(["object", "array", "string", "number", "integer", "boolean", "null"])
REFERENCES = st.sampled_from(["#", "#/$defs/a", "#/properties/x", "#/nowhere", "http://127.0.0.1:9/x", "a"])
SOURCES = st.one_of(
    st.text(alphabet='ab(){}[]|*+?.\\^$"/:=\n 19-<>@%', max_size=30),
    st.sampled_from(["a{1000000000}", "((a{999}){999}){999}", "[^\\s\\S]", "(" * 5000 + "a" + ")" * 5000, "(?=a)", ""]),
    st.sampled_from(
        ["root ::= root", "root ::= a\na ::= root | a", 'root ::= "a"{1000000000}', "start: start", "root ::="]
    ),
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(allow_nan=False), st.text(max_size=5)
)
VALUES = st.recursive(
    SCALARS.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=8,
)
SCHEMAS = st.recursive(
    st.one_of(
        st.booleans(),
        st.fixed_dictionaries({"type": TYPES}),
        st.fixed_dictionaries({"$ref": REFERENCES}),
        st.fixed_dictionaries({"type": st.just("string"), "pattern": SOURCES}),
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object")},
            optional={
                "properties": st.dictionaries(st.sampled_from("abx"), inner, max_size=3),
                "required": st.lists(st.sampled_from("abx"), max_size=3),
                "additionalProperties": inner,
                "$defs": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
                "allOf": st.lists(inner, max_size=2),
            },
        ),
        st.fixed_dictionaries({"anyOf": st.lists(inner, max_size=3)}, optional={"$ref": REFERENCES}),
        st.dictionaries(st.sampled_from(KEYWORDS), st.one_of(inner, VALUES), max_size=4),
    ),
    max_leaves=6,
)
OBJECTS = st.one_of(SCHEMAS, st.dictionaries(st.text(max_size=5), VALUES, max_size=3)).map(
    lambda schema: schema if isinstance(schema, dict) else {"properties": {"x": schema}}
)
TEXTS = st.one_of(
    VALUES.map(json.dumps), OBJECTS.map(json.dumps), st.sampled_from(["[" * 500_000, '{"a":' * 200_000]), SOURCES
)


def _tool(function: dict[str, Any], **choice: Any) -> dict[str, Any]:
    return {"tools": [{"type": "function", "function": {"name": "look", **function}}], **choice}


def _history(arguments: str) -> dict[str, Any]:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": arguments}}
    turns = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "x"},
    ]
    return {"messages": [{"role": "user", "content": "Hello"}, *turns]}


def _structure(schema: object) -> dict[str, Any]:
    return {"type": "structural_tag", "structures": [{"begin": "<a", "schema": schema, "end": ">"}], "triggers": ["<"]}


PLACES = st.one_of(
    OBJECTS.map(lambda schema: _tool({"parameters": schema})),
    OBJECTS.map(lambda schema: _tool({"parameters": schema}, tool_choice="required")),
    OBJECTS.map(lambda schema: _tool({"parameters": schema, "strict": True})),
    OBJECTS.map(
        lambda schema: {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}
    ),
    OBJECTS.map(lambda schema: {"response_format": _structure(schema)}),
    VALUES.map(lambda value: {"response_format": value}),
    VALUES.map(lambda value: {"structured_outputs": value}),
    OBJECTS.map(lambda schema: {"structured_outputs": {"json": schema, "disable_additional_properties": True}}),
    TEXTS.map(lambda text: {"structured_outputs": {"json": text}}),
    TEXTS.map(lambda text: {"structured_outputs": {"structural_tag": text}}),
    OBJECTS.map(lambda schema: {"structured_outputs": {"structural_tag": json.dumps(_structure(schema))}}),
    SOURCES.map(lambda source: {"structured_outputs": {"regex": source}}),
    SOURCES.map(lambda source: {"structured_outputs": {"grammar": source}}),
    SOURCES.map(lambda source: {"structured_outputs": {"json": {}, "whitespace_pattern": source}}),
    st.lists(st.text(max_size=5), max_size=3).map(lambda texts: {"structured_outputs": {"choice": texts}}),
    TEXTS.map(_history),
    TEXTS.map(lambda text: {**_history(text), **_tool({})}),
    VALUES.map(lambda value: {"chat_template_kwargs": {"a": value}}),
    VALUES.map(lambda value: {"documents": [{"a": value}]}),
    VALUES.map(lambda value: {"tools": value}),
    VALUES.map(lambda value: {"messages": value}),
    st.tuples(st.sampled_from(["allowed_token_ids", "bad_words", "logit_bias", "tool_choice", "stop"]), VALUES).map(
        lambda item: dict([item])
    ),
    st.integers(1, 4).map(lambda n: {"structured_outputs": {"choice": ["a"]}, "n": n, "use_beam_search": True}),
    st.sampled_from([{"stream": True}, {}]).map(
        lambda options: {"response_format": {"type": "json_object"}, "allowed_token_ids": [5], **options}
    ),
)


@pytest.fixture(scope="module")
def server(addresses: dict[str, str]) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=addresses["vllm"], timeout=PATIENCE_S) as client:
        yield client


def post(server: httpx.Client, parameters: dict[str, Any]) -> httpx.Response:
    model = server.get("/v1/models").json()["data"][0]["id"]
    return server.post("/v1/chat/completions", json={**body(max_tokens=3), "model": model, **parameters})


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(PLACES)
def test_no_json_of_a_client_causes_an_error_of_the_server(server: httpx.Client, parameters: dict[str, Any]) -> None:
    response = post(server, parameters)
    assert response.status_code < 500, parameters
    assert '"code": 5' not in response.text
    assert len(response.content) < 65_536


def _properties(count: int, **schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(count)}, **schema}


@pytest.mark.parametrize(
    "parameters",
    [
        _tool({"parameters": {"type": "object", "properties": {"x": False}}}),
        _tool({"parameters": _properties(5000), "strict": True}),
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": _properties(5000)}}},
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "x", "schema": {"anyOf": [{"$ref": "#"}]}},
            }
        },
        {"structured_outputs": {"regex": "a{1000000000}"}},
        {"structured_outputs": {"grammar": "root ::= root"}},
        {"structured_outputs": {"grammar": "root ::= " + "(" * 5000 + '"a"' + ")" * 5000}},
        {"structured_outputs": {"choice": ["zzz"]}, "allowed_token_ids": [5]},
        {"allowed_token_ids": [5], "n": 4, "use_beam_search": True},
        _history("[" * 500_000 + "]" * 500_000),
    ],
)
def test_known_attacks_are_answered_quickly_and_without_a_log_line(
    server: httpx.Client, parameters: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        response = post(server, parameters)
    assert response.status_code in (200, 400)
    assert response.elapsed.total_seconds() < PATIENCE_S / 2
    assert caplog.records == []


def test_many_tools_of_ordinary_size_are_accepted() -> None:
    from reference_server.request.tool_choice import select_tools

    tools = [{"type": "function", "function": {"name": f"f{at}", "parameters": _properties(30)}} for at in range(128)]
    selection = select_tools({"tools": tools})
    assert selection.use is not None
    assert all(tool.parameters is not None and len(tool.parameters) == 30 for tool in selection.use.tools)
