"""Examples are valid against their schemas, in every dialect and with any set of capabilities."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from openapi.contract.contract import Contract, load, names
from openapi.contract.tree.delta import walk_tree
from openapi.description.description import describe
from openapi.description.examples import KIND_SUMMARY, PIECES, make_examples
from openapi.description.validation import Validator, compile_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

DIALECTS = sorted(set(names().values()))


@pytest.fixture(params=[(dialect, lacks) for dialect in DIALECTS for lacks in ("nothing", "everything")], ids="-".join)
def contract(request: pytest.FixtureRequest) -> Contract:
    dialect, lacks = request.param
    whole = load(dialect)
    return whole.without(whole.capabilities if lacks == "everything" else ())


def bodies(document: dict[str, Any]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield the place of each body in the description, its schema and its examples."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            parts = {"requestBody": operation.get("requestBody", {}), **operation["responses"]}
            for part, content in parts.items():
                for media in content.get("content", {}).values():
                    yield f"{method} {path} {part}", media.get("schema"), media.get("examples", {})


def test_examples_of_bodies_are_valid(contract: Contract) -> None:
    validator = Validator(contract)
    seen = 0
    for where, schema, examples in bodies(validator.document):
        for name, shown in examples.items():
            problems = validator.problems(schema["$ref"].rpartition("/")[2], shown["value"])
            assert problems == (), (where, name)
            assert shown["summary"], (where, name)
            seen += 1
    assert seen >= 15


def test_every_json_body_has_an_example(contract: Contract) -> None:
    without = [where for where, schema, examples in bodies(describe(contract)) if schema and not examples]
    assert without == []


def test_examples_of_schemas_are_valid(contract: Contract) -> None:
    document = describe(contract)
    schemas = document["components"]["schemas"]
    places = [
        (f"#/components/schemas/ChatCompletionRequest/properties/{name}", schema["examples"])
        for name, schema in schemas["ChatCompletionRequest"]["properties"].items()
        if "examples" in schema
    ]
    places.append(("#/components/schemas/ChatCompletionChunk", schemas["ChatCompletionChunk"]["examples"]))
    for pointer, values in places:
        validator = compile_schema(document, pointer)
        assert [value for value in values if not validator.is_valid(value)] == [], pointer
    assert len(places) >= 5
    at_places = sum(1 for key, value, _ in walk_tree(schemas) if key == "examples" and isinstance(value, list))
    assert at_places == len(places)


def test_events_contain_the_chunks_as_json_followed_by_the_end_mark(contract: Contract) -> None:
    document = describe(contract)
    media = document["paths"][contract.path]["post"]["responses"]["200"]["content"]["text/event-stream"]
    *events, last = media["itemSchema"]["examples"]
    assert last == {"data": "[DONE]"}
    chunks = [json.loads(event["data"]) for event in events]
    assert chunks == document["components"]["schemas"]["ChatCompletionChunk"]["examples"]
    validator = Validator(contract)
    assert [validator.problems("ChatCompletionChunk", chunk) for chunk in chunks] == [()] * len(chunks)
    texts = [choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"]]
    assert "".join(texts) == "".join(PIECES)


def test_requests_use_known_parameters_and_include_plain_and_streamed(contract: Contract) -> None:
    shown = {request.name: request.value for request in make_examples(contract).requests}
    assert {"plain", "streamed", "sampling", "stopping"} <= shown.keys()
    assert {name for value in shown.values() for name in value} <= set(contract.parameters)
    assert shown["streamed"]["stream"] is True
    assert ("function" in shown) == ("tools" in contract.capabilities)
    kept = {rule.id for rule in contract.rules.values() if rule.kept is not None}
    assert kept <= shown.keys()


def test_every_kind_of_error_has_an_example_under_its_status(contract: Contract) -> None:
    operation = describe(contract)["paths"][contract.path]["post"]
    shown = {
        (status, kind)
        for status, response in operation["responses"].items()
        for kind in response["content"]["application/json"]["examples"]
        if status != "200"
    }
    keyless = {"unauthorized", "invalid_key"} if contract.auth == "none" else set()
    elsewhere = {"not_found", "method_not_allowed"} | keyless
    assert shown == {(str(row.status), kind) for kind, row in contract.errors.kinds.items() if kind not in elsewhere}
    assert {kind for _, kind in shown} <= set(KIND_SUMMARY)


def test_long_optional_and_refused_values_are_not_used_as_examples() -> None:
    contract = load("mindie")
    values = make_examples(contract).parameters
    assert values["stop"] == ["stop1", ["stop1", "stop2"], []]
    assert all(probe.capability is None for probe in contract.parameters["stop"].probes)
    assert values["max_tokens"] == []


def test_examples_share_no_mutable_state_with_the_contract() -> None:
    contract = load("mindie")

    def snapshot() -> str:
        examples = make_examples(contract)
        return json.dumps([[request.value for request in examples.requests], examples.parameters])

    before = snapshot()
    for _, _, examples in bodies(describe(contract)):
        for shown in examples.values():
            shown["value"].clear()
    for parameter in describe(contract)["components"]["schemas"]["ChatCompletionRequest"]["properties"].values():
        for value in parameter.get("examples", ()):
            if isinstance(value, list):
                value.clear()
    assert snapshot() == before
