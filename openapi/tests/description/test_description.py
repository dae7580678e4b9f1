"""The description is valid OpenAPI in both versions, reproducible and complete."""

from __future__ import annotations

import copy
import json

import pytest
from openapi_spec_validator import validate

from openapi.contract.contract import load, names
from openapi.contract.tree.delta import walk_tree
from openapi.description.description import describe, describe_oas31, to_json
from openapi.description.validation import Validator

DIALECTS = sorted(set(names().values()))


@pytest.mark.takes_turns
@pytest.mark.parametrize("narrowed", [False, True], ids=["whole", "narrowed"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_both_versions_are_valid_openapi(dialect: str, narrowed: bool) -> None:
    whole = load(dialect)
    contract = whole.without(whole.capabilities if narrowed else ())
    validate(describe(contract))
    validate(describe_oas31(contract))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_versions_differ_only_in_the_keyword_for_events(dialect: str) -> None:
    new, old = describe(load(dialect)), describe_oas31(load(dialect))
    assert (new["openapi"], old["openapi"]) == ("3.2.0", "3.1.1")
    media = new["paths"][load(dialect).path]["post"]["responses"]["200"]["content"]["text/event-stream"]
    media["schema"] = media.pop("itemSchema")
    assert {**new, "openapi": "3.1.1"} == old


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_reference_is_defined_and_every_schema_is_referenced(dialect: str) -> None:
    document = describe(load(dialect))
    schemas = document["components"]["schemas"]
    referenced = {str(value).rpartition("/")[2] for key, value, _ in walk_tree(document) if key == "$ref"}
    assert referenced == set(schemas)


def test_descriptions_of_one_contract_share_no_mutable_state() -> None:
    contract = load("mindie")
    before = copy.deepcopy(describe(contract))
    changed = describe(contract)
    changed["components"]["schemas"]["Usage"]["properties"].clear()
    changed["components"]["schemas"]["ChatCompletionRequest"]["properties"]["top_p"]["maximum"] = 7
    assert describe(contract) == before


def test_the_json_has_no_escapes_and_a_final_newline() -> None:
    assert to_json({"a": "你好", "b": 2**64 - 1}) == '{\n  "a": "你好",\n  "b": 18446744073709551615\n}\n'
    assert json.loads(to_json(describe(load("mindie")))) == describe(load("mindie"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_parameters_are_described_with_source_summary_default_and_null(dialect: str) -> None:
    contract = load(dialect)
    properties = describe(contract)["components"]["schemas"]["ChatCompletionRequest"]["properties"]
    assert list(properties) == list(contract.parameters)
    for name, described in properties.items():
        assert described["x-source"] == contract.parameters[name].source
        assert described["description"].startswith(contract.parameters[name].summary)
    assert properties["temperature"]["default"] == 1.0
    nullable = contract.parameters["temperature"].null.expect == "accept"
    assert properties["temperature"]["type"] == (["number", "null"] if nullable else "number")


def test_rules_are_marked_in_schemas_or_listed_in_words() -> None:
    contract = load("mindie")
    request = describe(contract)["components"]["schemas"]["ChatCompletionRequest"]
    marked = {value["id"] for key, value, _ in walk_tree(request["dependentSchemas"]) if key == "x-rule"}
    listed = {rule["id"] for rule in request["x-rules"]}
    assert marked | listed == set(contract.rules)
    assert marked == {rule.id for rule in contract.rules.values() if rule.schema is not None}
    assert "allOf" not in request
    assert [key for key, _, _ in walk_tree(request) if key in ("if", "then")] == []


def test_an_event_is_the_end_mark_or_a_chunk() -> None:
    media = describe(load("mindie"))["paths"]["/v1/chat/completions"]["post"]["responses"]["200"]["content"]
    end, chunk = media["text/event-stream"]["itemSchema"]["properties"]["data"]["oneOf"]
    assert end == {"const": "[DONE]"}
    assert chunk["contentSchema"] == {"$ref": "#/components/schemas/ChatCompletionChunk"}
    assert chunk["not"] == end


def test_an_api_key_is_described_only_if_the_dialect_requires_one() -> None:
    keyed = describe(load("siliconstorm"))
    [scheme] = keyed["components"]["securitySchemes"].values()
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    operations = [operation for path in keyed["paths"].values() for operation in path.values()]
    assert [operation["security"] for operation in operations] == [[{"bearer": []}], [{"bearer": []}]]
    assert ["401" in operation["responses"] for operation in operations] == [True, True]
    keyless = describe(load("mindie"))
    assert keyless["security"] == []
    assert "securitySchemes" not in keyless["components"]
    assert "401" not in keyless["paths"]["/v1/chat/completions"]["post"]["responses"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [True, False, None, "true", 1, [], {}], ids=repr)
def test_the_branches_for_plain_and_streamed_answers_refuse_nothing(dialect: str, stream: object) -> None:
    """The branches guide case generators; only the schema of `stream` itself may refuse a value."""
    contract = load(dialect)
    validator = Validator(contract)
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], "stream": stream}
    assert {problem.where for problem in validator.request_problems(body)} <= {"/stream"}
    assert "anyOf" in validator.document["components"]["schemas"]["ChatCompletionRequest"]
    assert {problem.keyword for problem in validator.request_problems(body)} <= {"type"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_error_statuses_are_those_of_the_error_table(dialect: str) -> None:
    contract = load(dialect)
    responses = describe(contract)["paths"][contract.path]["post"]["responses"]
    elsewhere = {"not_found", "method_not_allowed", *(() if contract.auth == "bearer" else ("unauthorized",))}
    statuses = {str(row.status) for kind, row in contract.errors.kinds.items() if kind not in elsewhere}
    assert set(responses) == {"200", *statuses}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_description_identifies_its_source_document(dialect: str) -> None:
    contract = load(dialect)
    info = describe(contract)["info"]
    assert info["x-dialect"] == dialect
    assert info["x-document"] == contract.document.id
    assert info["x-document-sha256"] == contract.document.sha256
    assert info["version"] == contract.document.version
    assert info["x-capabilities"] == sorted(contract.capabilities)
    assert info.get("x-unsupported", []) == list(contract.unsupported)
