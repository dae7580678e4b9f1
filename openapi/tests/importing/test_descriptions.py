"""OpenAPI descriptions of all versions: what their schemas and words state, and what becomes a to-do."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from openapi.contract.contract import ContractError, load, load_file, names
from openapi.contract.parameter import ABSENT
from openapi.contract.tree.yaml_file import parse
from openapi.description.description import describe
from openapi.importing.new_dialect import import_source
from openapi.importing.source import SourceFile
from openapi.tests.importing.importing import OPTIONS, description, imported

if TYPE_CHECKING:
    from pathlib import Path

DIALECTS = sorted(set(names().values()))
FORMS: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    ("3.0.3", {"type": "integer", "nullable": True, "minimum": 1}, {"type": "integer", "minimum": 1}, True),
    (
        "3.0.0",
        {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 2},
        {"type": "number", "exclusiveMinimum": 0, "maximum": 2},
        False,
    ),
    ("3.1.0", {"type": ["integer", "null"], "maximum": 9}, {"type": "integer", "maximum": 9}, True),
    ("3.1.0", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"type": "integer"}, True),
    ("3.2.0", {"enum": ["a", "b", None]}, {"enum": ["a", "b"]}, True),
    ("3.1.0", {"allOf": [{"type": "integer", "minimum": 1}, {"minimum": 3}]}, {"type": "integer", "minimum": 3}, False),
    ("3.1.0", {"$ref": "#/components/schemas/Count"}, {"type": "integer", "maximum": 5}, False),
    (
        "3.0.1",
        {"allOf": [{"$ref": "#/components/schemas/Count"}], "nullable": True},
        {"type": "integer", "maximum": 5},
        True,
    ),
    ("3.1.0", {"type": "float"}, {"type": "number"}, False),
    ("3.1.0", {"type": "string", "x-vendor": "red", "maxLength": 3}, {"type": "string", "maxLength": 3}, False),
]


@pytest.mark.parametrize(("version", "schema", "expected", "nullable"), FORMS)
def test_each_form_of_a_schema_is_read(
    version: str, schema: dict[str, Any], expected: dict[str, Any], nullable: bool, tmp_path: Path
) -> None:
    components = {"Count": {"type": "integer", "maximum": 5}}
    contract, _ = imported(description({"level": schema}, version=version, components=components), tmp_path)
    level = contract.parameters["level"]
    assert (expected, "accept" if nullable else "reject") == (level.schema, level.null.expect)


def test_yaml_is_read_like_json(tmp_path: Path) -> None:
    import yaml

    source = description({"temperature": {"type": "number", "default": 0.7}})
    contract, _ = imported(yaml.safe_dump(source), tmp_path, "source.yaml")
    assert 0.7 == contract.parameters["temperature"].default


def test_the_endpoint_has_the_path_of_the_server_and_the_key(tmp_path: Path) -> None:
    contract, _ = imported(description({}), tmp_path)
    assert ("/v1/chat/completions", "bearer") == (contract.path, contract.auth)


def test_a_chat_operation_may_have_any_path_if_it_is_named(tmp_path: Path) -> None:
    source = description({})
    source["paths"] = {"/sonar": source["paths"]["/chat/completions"]}
    file = SourceFile("source.json", json.dumps(source).encode())
    with pytest.raises(ContractError, match="expected a POST with a path that ends in /chat/completions or"):
        import_source(file, OPTIONS)
    path = tmp_path / "acme.yaml"
    path.write_text(import_source(file, replace(OPTIONS, path="/sonar")).text, encoding="utf-8")
    assert "/v1/sonar" == load_file(path).path


def test_words_add_what_the_schema_does_not_state(tmp_path: Path) -> None:
    words = {"type": "number", "description": "Sampling temperature. Between 0 and 1.5. Defaults to 0.3."}
    contract, _ = imported(description({"temperature": words}), tmp_path)
    temperature = contract.parameters["temperature"]
    assert ({"type": "number", "minimum": 0.0, "maximum": 1.5}, 0.3) == (temperature.schema, temperature.default)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "number", "maximum": 2, "description": "Between 0 and 1."}, "Between 0 and 1"),
        ({"type": "integer", "description": "Cannot exceed the context length."}, "Cannot exceed the context length"),
        ({"type": "integer", "default": "many"}, "'many'"),
        ({"type": "integer", "surprise": 1}, "surprise: 1"),
        ({"type": "integer", "x-limit": 5}, "x-limit: 5"),
        ({"type": "blob"}, "type 'blob'"),
        ({"enum": "a"}, "enum 'a'"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "type is both"),
    ],
)
def test_what_is_not_understood_is_a_todo(schema: dict[str, Any], text: str, tmp_path: Path) -> None:
    _, todos = imported(description({"level": schema}), tmp_path)
    assert [todo for todo in todos if text in todo and "level" in todo]


def test_a_parameter_that_the_source_lacks_is_removed_with_what_is_about_it(tmp_path: Path) -> None:
    contract, _ = imported(description({}), tmp_path)
    assert {"model", "messages"} == set(contract.parameters)
    assert not [row for row in contract.requirements.values() if row.parameter == "stop"]


def test_alternatives_of_a_request_are_joined(tmp_path: Path) -> None:
    stream, plain = ({"stream": {"type": "boolean", "enum": [value]}} for value in (True, False))
    source = description({})
    request = source["paths"]["/chat/completions"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    both = [{**request, "properties": {**request["properties"], **fields}} for fields in (stream, plain)]
    source["paths"]["/chat/completions"]["post"]["requestBody"]["content"]["application/json"]["schema"] = {
        "oneOf": both
    }
    contract, _ = imported(source, tmp_path)
    assert ({"type": "boolean"}, True) == (contract.parameters["stream"].schema, contract.parameters["model"].required)


def test_a_schema_that_contains_itself_is_cut(tmp_path: Path) -> None:
    tree = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "child": {"$ref": "#/components/schemas/Tree"}},
    }
    source = description({"tree": {"$ref": "#/components/schemas/Tree"}}, components={"Tree": tree})
    contract, todos = imported(source, tmp_path)
    assert "tree" in contract.parameters
    assert [todo for todo in todos if "contains itself" in todo]


def test_a_default_of_null_needs_null(tmp_path: Path) -> None:
    contract, _ = imported(description({"seed": {"type": ["integer", "null"], "default": None}}), tmp_path)
    assert contract.parameters["seed"].default is None
    contract, todos = imported(description({"seed": {"type": "integer", "default": None}}), tmp_path)
    assert contract.parameters["seed"].default is ABSENT
    assert [todo for todo in todos if "seed" in todo]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_description_of_a_dialect_extends_one_that_has_all_of_its_parameters(dialect: str, tmp_path: Path) -> None:
    source = SourceFile("source.json", json.dumps(describe(load(dialect))).encode())
    written = import_source(source, replace(OPTIONS, extends=None, id="own"))
    path = tmp_path / "own.yaml"
    path.write_text(written.text, encoding="utf-8")
    parent = load(parse(written.text, str(path))["extends"])
    assert load(dialect).parameters.keys() <= parent.parameters.keys()
    assert f"it extends {parent.name}, which has all of its parameters" in written.summary


def test_a_source_with_parameters_of_no_dialect_extends_openai_and_names_them() -> None:
    source = SourceFile("source.json", json.dumps(description({"new": {"type": "integer"}})).encode())
    written = import_source(source, replace(OPTIONS, extends=None))
    assert "it extends openai, which lacks only new (--extends chooses another dialect); " in written.summary
