"""A page's statement about a field of several alternatives narrows them, and nothing else."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from openapi.contract.contract import list_all, load
from openapi.reading.compare.contract_facts import contract_facts
from openapi.schema.json_schema import REFERENCE
from openapi.tests.importing.importing import imported

if TYPE_CHECKING:
    from pathlib import Path

    from openapi.contract.contract import Contract

MAX_STEPS = 5
HEADER = "### Request body\n\n| Parameter | Type | Required | Description |\n|---|---|---|---|\n"


def discriminators(dialect: str) -> list[tuple[str, str]]:
    """List the request's fields of which each alternative has a value of its own."""
    contract = load(dialect)
    request = {path: known for (part, path), known in contract_facts(contract).items() if part == "request"}
    return [
        (dialect, path)
        for path, known in request.items()
        if path.count(".") + path.count("[]") <= MAX_STEPS
        and _is_constant(contract, known)
        and not any(
            _is_recursive(path, other) and set(known.tree_paths) & set(request[other].tree_paths) for other in request
        )
    ]


def _is_recursive(path: str, other: str) -> bool:
    return path != other and path.partition(".")[0] == other.partition(".")[0]


def _is_constant(contract: Contract, known: Any) -> bool:
    tree = {
        "schemas": contract.schemas,
        "parameters": {row.name: {"schema": row.schema} for row in contract.parameters.values()},
    }
    nodes = []
    for place in known.tree_paths if known.fact.enum[1:] else ():
        node: Any = tree
        for step in place.split("/"):
            node = node[int(step)] if isinstance(node, list) else node[step]
        nodes.append(node)
    return len(nodes) > 1 and all("const" in node for node in nodes)


FIELDS = [field for dialect in list_all() for field in discriminators(dialect)]


def page(path: str, *rows: str) -> str:
    """Return a page about one parameter and fields below it; the path of the first row says which."""
    parameter = path.partition("[")[0].partition(".")[0]
    kind = "array" if path.startswith(f"{parameter}[]") else "object"
    others = "" if parameter == "messages" else "| messages | array | yes | |\n"
    lines = "\n".join(f"| {row} |" for row in rows)
    return f"{HEADER}| model | string | yes | |\n{others}| {parameter} | {kind} | no | |\n{lines}\n"


def values_of(contract: Contract, path: str) -> set[Any]:
    """Return the values of a field in all alternatives of a contract."""
    known = contract_facts(contract).get(("request", path))
    return set(known.fact.enum) if known else set()


def message_is_valid(contract: Contract, message: dict[str, Any]) -> bool:
    schema = contract.parameters["messages"].schema
    whole = {**schema, "components": {"schemas": contract.schemas}}
    return jsonschema_rs.validator_for(whole).is_valid([message])


@pytest.mark.takes_turns
@pytest.mark.parametrize(("dialect", "path"), FIELDS, ids=[f"{dialect}-{path}" for dialect, path in FIELDS])
def test_listed_values_of_a_discriminator_leave_out_the_other_alternatives(
    dialect: str, path: str, tmp_path: Path
) -> None:
    base = load(dialect)
    known = sorted(values_of(base, path))
    required = contract_facts(base)["request", path].fact.required
    chance = Random(f"{dialect} {path}")
    listed = chance.sample(known, chance.randint(1, len(known) - 1))
    words = (
        "One of " + ", ".join(f"`{value}`" for value in listed)
        if len(listed) > 1
        else f"Only `{listed[0]}` is supported"
    )
    contract, todos = imported(
        page(path, f"{path} | string | {required} | {words}."), tmp_path, "page.md", extends=dialect
    )
    assert set(listed) == values_of(contract, path)
    assert [] == [todo for todo in todos if todo.startswith(path)]
    for schema in contract.schemas.values():
        union = schema.get("oneOf") or schema.get("anyOf") or []
        targets = set(schema.get("discriminator", {}).get("mapping", {}).values())
        assert targets <= {branch.get("$ref") for branch in union}


@pytest.mark.parametrize("path", ["messages[].role", "messages[].content[].type", "messages[].tool_calls[].type"])
def test_schemas_that_other_parts_use_stay_as_they_are(path: str, tmp_path: Path) -> None:
    base = load("openai")
    listed = sorted(values_of(base, path))[0]
    text = page(
        path, f"{path} | string | no | Only `{listed}` is supported.", "messages[].content | string | yes | Text."
    )
    contract, _ = imported(text + "| prediction | object | no | |\n", tmp_path, "page.md")
    before, after = contract_facts(base), contract_facts(contract)
    kept = [key for key in before if key[0] != "request" or key[1].startswith("prediction.")]
    assert [] == [key for key in kept if before[key].fact != after[key].fact]


def test_a_listed_value_that_no_alternative_has_is_a_todo(tmp_path: Path) -> None:
    rows = "messages[].role | string | yes | One of `system`, `narrator` or `user`."
    contract, todos = imported(page("messages[].role", rows), tmp_path, "page.md")
    assert {"system", "user"} == values_of(contract, "messages[].role")
    assert ['messages[].role (line 7): "narrator": no alternative has such a value'] == [
        todo for todo in todos if todo.startswith("messages")
    ]


def test_values_of_which_no_alternative_has_any_change_nothing(tmp_path: Path) -> None:
    rows = "messages[].role | string | yes | One of `narrator` or `actor`."
    contract, todos = imported(page("messages[].role", rows), tmp_path, "page.md")
    assert values_of(load("openai"), "messages[].role") == values_of(contract, "messages[].role")
    assert [todo for todo in todos if todo.startswith('messages[].role (line 7): enum ["narrator", "actor"], in ')]


@pytest.mark.parametrize(
    ("kind", "valid", "invalid"),
    [
        ("string", "hello", [{"type": "text", "text": "hello"}]),
        ("array", [{"type": "text", "text": "hello"}], "hello"),
        ("string or array", "hello", 5),
    ],
)
@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_stated_types_of_a_field_narrow_each_alternative(
    role: str, kind: str, valid: Any, invalid: Any, tmp_path: Path
) -> None:
    rows = (
        "messages[].role | string | yes | One of `system`, `user` or `assistant`.",
        f"messages[].content | {kind} | yes | The text.",
    )
    contract, todos = imported(page("messages[].role", *rows), tmp_path, "page.md")
    assert [] == [todo for todo in todos if todo.startswith("messages")]
    assert [True, False] == [
        message_is_valid(contract, {"role": role, "content": content}) for content in (valid, invalid)
    ]
    calls = [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    silent = {"role": role, "content": None, "tool_calls": calls}
    assert message_is_valid(load("openai"), silent) == message_is_valid(contract, silent)


def test_a_type_that_no_alternative_has_is_a_todo_and_changes_nothing(tmp_path: Path) -> None:
    rows = ("messages[].content | boolean | yes | The text.",)
    contract, todos = imported(page("messages[].content", *rows), tmp_path, "page.md")
    before, after = (
        contract_facts(one)["request", "messages[].content"].fact.types for one in (load("openai"), contract)
    )
    assert before == after
    assert [todo for todo in todos if todo.startswith("messages[].content (line 7): types boolean, in ")]


def test_a_limit_is_written_in_each_alternative_of_its_type(tmp_path: Path) -> None:
    rows = ("messages[].content | string or array | yes | At most 9 characters. 1 to 2 items.",)
    contract, todos = imported(page("messages[].content", *rows), tmp_path, "page.md")
    part = {"type": "text", "text": "long enough text"}
    found = [
        message_is_valid(contract, {"role": "user", "content": content})
        for content in ("123456789", "1234567890", [part], [part] * 3)
    ]
    assert ([True, False, True, False], []) == (found, [todo for todo in todos if todo.startswith("messages")])


@pytest.mark.parametrize("required", ["yes", "no"])
def test_a_field_is_required_in_each_alternative_that_has_no_rule_of_its_own(required: str, tmp_path: Path) -> None:
    rows = (
        "messages[].role | string | yes | One of `user` or `assistant`.",
        f"messages[].name | string | {required} | A name.",
    )
    contract, todos = imported(page("messages[].role", *rows), tmp_path, "page.md")
    assert required == contract_facts(contract)["request", "messages[].name"].fact.required
    assert [] == [todo for todo in todos if todo.startswith("messages")]
    assert (required == "no") == message_is_valid(contract, {"role": "user", "content": "hello"})


def test_a_required_field_that_some_alternatives_do_not_have_is_a_todo(tmp_path: Path) -> None:
    rows = ("messages[].tool_call_id | string | yes | The call.",)
    contract, todos = imported(page("messages[].tool_call_id", *rows), tmp_path, "page.md")
    assert message_is_valid(contract, {"role": "user", "content": "hello"})
    assert [todo for todo in todos if todo.startswith("messages[].tool_call_id (line 7): required yes, in ")]


def test_the_mapping_of_a_narrowed_union_names_its_alternatives(tmp_path: Path) -> None:
    rows = "messages[].role | string | yes | One of `user` or `assistant`."
    contract, _ = imported(page("messages[].role", rows), tmp_path, "page.md")
    union = contract.schemas["Message"]
    assert {name: f"{REFERENCE}{name.title()}Message" for name in ("user", "assistant")} == union["discriminator"][
        "mapping"
    ]
    assert json.dumps(union["oneOf"]).count("$ref") == 2
