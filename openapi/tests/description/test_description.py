"""The description: valid OpenAPI in both versions, the same in every run, and complete."""

from __future__ import annotations

import copy
import json

import pytest
from openapi_spec_validator import validate

from openapi.contract.contract import load, names
from openapi.contract.resolution import walk_tree
from openapi.description.description import describe, describe_oas31, text
from openapi.description.validation import Validator

DIALECTS = sorted(set(names().values()))


@pytest.mark.parametrize("narrowed", [False, True], ids=["whole", "narrowed"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_both_versions_are_valid_openapi(dialect: str, narrowed: bool) -> None:
    whole = load(dialect)
    contract = whole.without(whole.capabilities if narrowed else ())
    validate(describe(contract))
    validate(describe_oas31(contract))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_versions_differ_in_the_word_for_events_alone(dialect: str) -> None:
    new, old = describe(load(dialect)), describe_oas31(load(dialect))
    assert (new["openapi"], old["openapi"]) == ("3.2.0", "3.1.1")
    media = new["paths"][load(dialect).path]["post"]["responses"]["200"]["content"]["text/event-stream"]
    media["schema"] = media.pop("itemSchema")
    assert {**new, "openapi": "3.1.1"} == old


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_reference_leads_somewhere_and_every_schema_is_reached(dialect: str) -> None:
    document = describe(load(dialect))
    schemas = document["components"]["schemas"]
    reached = {str(value).rpartition("/")[2] for key, value, _ in walk_tree(document) if key == "$ref"}
    assert reached == set(schemas)


def test_descriptions_of_a_contract_share_nothing_that_changes() -> None:
    contract = load("mindie")
    before = copy.deepcopy(describe(contract))
    changed = describe(contract)
    changed["components"]["schemas"]["Usage"]["properties"].clear()
    changed["components"]["schemas"]["ChatCompletionRequest"]["properties"]["top_p"]["maximum"] = 7
    assert describe(contract) == before


def test_text_is_json_with_real_characters_and_a_last_line_end() -> None:
    assert text({"a": "你好", "b": 2**64 - 1}) == '{\n  "a": "你好",\n  "b": 18446744073709551615\n}\n'
    assert json.loads(text(describe(load("mindie")))) == describe(load("mindie"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_requests_are_described_with_default_source_and_null(dialect: str) -> None:
    contract = load(dialect)
    properties = describe(contract)["components"]["schemas"]["ChatCompletionRequest"]["properties"]
    assert list(properties) == list(contract.parameters)
    for name, described in properties.items():
        assert described["x-source"] == contract.parameters[name].source
        assert described["description"].startswith(contract.parameters[name].summary)
    assert properties["temperature"]["default"] == 1.0
    nullable = contract.parameters["temperature"].null.expect == "accept"
    assert properties["temperature"]["type"] == (["number", "null"] if nullable else "number")


def test_rules_are_marked_and_those_beyond_schemas_listed_in_words() -> None:
    contract = load("mindie")
    request = describe(contract)["components"]["schemas"]["ChatCompletionRequest"]
    marked = {value["id"] for key, value, _ in walk_tree(request["dependentSchemas"]) if key == "x-rule"}
    listed = {rule["id"] for rule in request["x-rules"]}
    assert marked | listed == set(contract.rules)
    assert marked == {rule.id for rule in contract.rules.values() if rule.schema is not None}
    assert "allOf" not in request
    assert [key for key, _, _ in walk_tree(request) if key in ("if", "then")] == []


def test_events_are_the_end_mark_or_a_chunk() -> None:
    media = describe(load("mindie"))["paths"]["/v1/chat/completions"]["post"]["responses"]["200"]["content"]
    end, piece = media["text/event-stream"]["itemSchema"]["properties"]["data"]["oneOf"]
    assert end == {"const": "[DONE]"}
    assert piece["contentSchema"] == {"$ref": "#/components/schemas/ChatCompletionChunk"}
    assert piece["not"] == end


def test_a_key_is_described_where_one_is_needed() -> None:
    hosted = describe(load("siliconstorm"))
    [scheme] = hosted["components"]["securitySchemes"].values()
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    operations = [operation for path in hosted["paths"].values() for operation in path.values()]
    assert [operation["security"] for operation in operations] == [[{"bearer": []}], [{"bearer": []}]]
    assert ["401" in operation["responses"] for operation in operations] == [True, True]
    open_to_all = describe(load("mindie"))
    assert open_to_all["security"] == []
    assert "securitySchemes" not in open_to_all["components"]
    assert "401" not in open_to_all["paths"]["/v1/chat/completions"]["post"]["responses"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [True, False, None, "true", 1, [], {}], ids=repr)
def test_the_two_ways_of_being_answered_refuse_nothing(dialect: str, stream: object) -> None:
    """They tell generators apart what needs a stream; only the parameter itself may refuse a value."""
    contract = load(dialect)
    validator = Validator(contract)
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], "stream": stream}
    assert {problem.where for problem in validator.request_problems(body)} <= {"/stream"}
    assert "anyOf" in validator.document["components"]["schemas"]["ChatCompletionRequest"]
    assert {problem.keyword for problem in validator.request_problems(body)} <= {"type"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_statuses_of_refusals_are_those_of_the_error_table(dialect: str) -> None:
    contract = load(dialect)
    responses = describe(contract)["paths"][contract.path]["post"]["responses"]
    elsewhere = {"not_found", "method_not_allowed", *(() if contract.auth == "bearer" else ("unauthorized",))}
    statuses = {str(row.status) for kind, row in contract.errors.kinds.items() if kind not in elsewhere}
    assert set(responses) == {"200", *statuses}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_description_says_what_it_was_made_from(dialect: str) -> None:
    contract = load(dialect)
    info = describe(contract)["info"]
    assert info["x-dialect"] == dialect
    assert info["x-document"] == contract.document.id
    assert info["x-document-sha256"] == contract.document.sha256
    assert info["version"] == contract.document.version
    assert info["x-capabilities"] == sorted(contract.capabilities)
    assert info.get("x-unsupported", []) == list(contract.unsupported)
