"""The matrix: the committed page is what the contract gives, and each cell says what its dialect's schema says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import openapi
from openapi.contract.contract import Contract, load, names
from openapi.description.matrix import INDENT, NOTHING, Section, markdown, sections
from openapi.schema.fields import list_fields
from openapi.schema.notation import accepts_null, notation, number
from openapi.spec_commands import print_matrix

ROOT = Path(openapi.__file__).parent.parent
PAGE = ROOT / "docs" / "dialects.md"
CONTRACTS = [load(dialect) for dialect in dict.fromkeys(names().values())]
TABLES = {section.title: section for section in sections(CONTRACTS)}
AGAIN = "run `chatproof spec matrix --write docs/dialects.md`"


def cells(section: str, name: str) -> dict[str, str]:
    """Dialect -> cell of the row of that name."""
    [row] = [row for row in TABLES[section].rows if row.name == name and row.depth == 0]
    return dict(zip((contract.name for contract in CONTRACTS), row.cells, strict=True))


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the page is not part of an installed distribution")
def test_the_committed_page_is_what_the_contract_gives() -> None:
    assert PAGE.read_bytes() == markdown(CONTRACTS).encode(), AGAIN


def test_every_parameter_field_kind_and_capability_has_a_row() -> None:
    requests = {row.name for row in TABLES["Requests"].rows if row.depth == 0}
    refusals = {row.name for row in TABLES["Refusals"].rows}
    servers = {row.name for row in TABLES["Servers"].rows}
    for contract in CONTRACTS:
        assert requests >= {*contract.parameters, *contract.unsupported}
        assert refusals >= set(contract.errors.kinds)
        assert servers >= set(contract.capabilities)
    for title, root in (("Answers", "ChatCompletion"), ("Streams", "ChatCompletionChunk")):
        top = {row.name for row in TABLES[title].rows if row.depth == 0}
        assert top >= {name for contract in CONTRACTS for name in contract.schemas[root]["properties"]}


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: str(contract.name))
def test_a_dash_stands_where_a_dialect_has_nothing(contract: Contract) -> None:
    for row in TABLES["Requests"].rows:
        if row.depth == 0:
            cell = row.cells[CONTRACTS.index(contract)]
            if row.name in contract.parameters:
                assert cell.startswith(notation(contract.parameters[row.name].schema, contract.schemas))
            else:
                assert cell == ("not supported" if row.name in contract.unsupported else NOTHING)


def test_cells_say_range_default_null_and_capability() -> None:
    assert cells("Requests", "temperature")["mindie-2.3"] == "number [0, 2]\ndefault 1, null?"
    assert cells("Requests", "temperature")["mindie-vllm-1.0"] == "number ≥ 0\ndefault 1, null"
    assert cells("Requests", "model")["ovms-2024"] == "text of 1+ characters\nrequired, no null"
    assert cells("Requests", "n")["mindie-2.3"] == "integer [1, 128]\ndefault 1, null, if n"
    assert cells("Requests", "n")["mindie-1.0"] == NOTHING
    assert cells("Requests", "top_k")["mindie-vllm-1.0"].splitlines() == [
        "integer [-1, 2^31-1], not 0",
        "default: decided by the backend model, null",
    ]
    assert cells("Requests", "tools")["ovms-2024"] == "not supported"
    assert cells("Requests", "stop")["mindie-2.3"].endswith("\ndefault null, null")
    assert cells("Answers", "id")["ovms-2024"] == NOTHING
    assert cells("Refusals", "invalid_request")["ovms-2024"] == "400"
    assert cells("Refusals", "unauthorized")["siliconstorm"] == "401, code 702"
    assert cells("Refusals", "unauthorized")["mindie-2.3"] == NOTHING
    assert cells("Servers", "tools")["ovms-2024"] == NOTHING
    [role] = [row for row in TABLES["Streams"].rows if row.words == "role is sent"]
    assert role.cells[[contract.name for contract in CONTRACTS].index("ovms-2024")] == "first-delta"


def test_nested_rows_follow_the_row_that_holds_them() -> None:
    shown = [(row.depth, row.name) for row in TABLES["Requests"].rows]
    at = shown.index((0, "tools"))
    assert shown[at : at + 7] == [
        (0, "tools"),
        (1, "[].type"),
        (1, "[].function"),
        (2, ".name"),
        (2, ".strict"),
        (2, ".description"),
        (2, ".parameters"),
    ]


@pytest.mark.parametrize("section", TABLES.values(), ids=TABLES)
def test_every_row_has_a_cell_for_every_dialect(section: Section) -> None:
    assert {len(row.cells) for row in section.rows} == {len(CONTRACTS)}
    assert all(row.name or row.words for row in section.rows)
    labels = [(row.name, row.depth, row.words) for row in section.rows if row.depth == 0]
    assert len(set(labels)) == len(labels)


def test_the_page_is_made_of_whole_tables() -> None:
    lines = [line for line in markdown(CONTRACTS).splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {len(CONTRACTS) + 2}
    assert sum(line.startswith("| ---") for line in lines) == len(TABLES)
    assert any(line.startswith(f"| {INDENT}`[].role` |") for line in lines)


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "number", "minimum": 0.0, "maximum": 2.0}, "number [0, 2]"),
        ({"type": "number", "exclusiveMinimum": 0.0, "maximum": 1.0}, "number (0, 1]"),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1.5}, "number (0, 1.5)"),
        ({"type": "integer", "minimum": -1}, "integer ≥ -1"),
        ({"type": "integer", "exclusiveMaximum": 9}, "integer < 9"),
        ({"type": "integer", "minimum": 0, "maximum": 2**64 - 1}, "integer [0, 2^64-1]"),
        ({"type": "integer", "minimum": -(2**31), "not": {"const": 0}}, "integer ≥ -2^31, not 0"),
        ({"type": "integer", "not": {"enum": [0, 1]}}, "integer, not 0, not 1"),
        ({"type": ["boolean", "null"]}, "boolean"),
        ({"type": "null"}, "null"),
        ({"type": "string", "maxLength": 9}, "text of up to 9 characters"),
        ({"type": "string", "minLength": 1, "maxLength": 1}, "text of 1 character"),
        ({"type": "string", "minLength": 1}, "text of 1+ characters"),
        ({"enum": ["a", "b", None]}, '"a" or "b"'),
        ({"const": "a"}, '"a"'),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 4}, "list of 1 to 4 items: text"),
        ({"type": "array", "x-maxCharacters": 2**22}, "list, 2^22 characters in all"),
        ({"anyOf": [{"type": "string"}, {"type": "string"}, {"type": "array"}]}, "text or list"),
        ({"properties": {"a": {}}}, "object"),
        ({"$ref": "#/components/schemas/S"}, "boolean"),
        ({}, "anything"),
    ],
    ids=str,
)
def test_schemas_have_a_short_notation(schema: dict[str, Any], shown: str) -> None:
    assert notation(schema, {"S": {"type": "boolean"}}) == shown


@pytest.mark.parametrize(
    ("schema", "taken"),
    [
        ({"type": ["string", "null"]}, True),
        ({"type": "string"}, False),
        ({"enum": [1, None]}, True),
        ({"const": 1}, False),
        ({"const": None}, True),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, True),
        ({"oneOf": [{"type": "string"}]}, False),
        ({"$ref": "#/components/schemas/S"}, True),
        ({"type": "object", "anyOf": [{"required": ["a"]}]}, False),
        ({}, True),
    ],
    ids=str,
)
def test_whether_null_is_taken_is_told_apart(schema: dict[str, Any], taken: bool) -> None:
    assert accepts_null(schema, {"S": {"type": ["string", "null"]}}) is taken


def test_numbers_are_short() -> None:
    shown = {
        1 - 2**31: "-2147483647",
        1.0: "1",
        0.5: "0.5",
        1e-6: "1e-06",
        2**31 - 1: "2^31-1",
        -(2**63): "-2^63",
        32768: "32768",
        10**7: "10000000",
    }
    assert {value: number(value) for value in shown} == shown


def test_members_of_branches_are_laid_over_each_other() -> None:
    schemas = {
        "A": {"type": "object", "required": ["k"], "properties": {"k": {"const": "a"}, "x": {"type": "string"}}},
        "B": {
            "type": "object",
            "required": ["k", "y"],
            "properties": {"k": {"const": "b"}, "y": {"$ref": "#/components/schemas/L"}},
        },
        "L": {"type": "array", "items": {"type": "object", "additionalProperties": {"properties": {"z": {}}}}},
    }
    found = list_fields(
        {"oneOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}]}, schemas, "m"
    )
    assert [(member.path, member.required, len(member.schemas), member.depth) for member in found] == [
        ("m.k", "yes", 2, 1),
        ("m.x", "no", 1, 1),
        ("m.y", "some", 1, 1),
        ("m.y[]", "no", 1, 1),
        ("m.y[].*", "no", 1, 2),
        ("m.y[].*.z", "no", 1, 3),
    ]
    assert [member.path for member in found if member.is_element] == ["m.y[]", "m.y[].*"]
    assert {member.path: member.holder for member in found}["m.y[].*"] == "m.y[]"


def test_a_schema_that_holds_itself_ends() -> None:
    schemas = {"S": {"type": "object", "properties": {"s": {"$ref": "#/components/schemas/S"}}}}
    found = list_fields({"$ref": "#/components/schemas/S"}, schemas)
    assert [member.path for member in found][:2] == ["s", "s.s"]
    assert len(found) == 10


def test_the_command_writes_and_checks_the_page(tmp_path: Path) -> None:
    run, page = CliRunner().invoke, tmp_path / "dialects.md"
    assert run(print_matrix, ["--write", str(page), "--check"]).exit_code == 1
    assert run(print_matrix, ["--write", str(page)]).exit_code == 0
    assert page.read_text(encoding="utf-8") == markdown(CONTRACTS)
    assert run(print_matrix, ["--write", str(page), "--check"]).exit_code == 0
    page.write_text("else")
    stale = run(print_matrix, ["--write", str(page), "--check"])
    assert stale.exit_code == 1
    assert f"run `chatproof spec matrix --write {page}`" in stale.output


def test_the_command_shows_chosen_dialects() -> None:
    run = CliRunner().invoke
    shown = run(print_matrix, ["--dialect", "ovms", "--dialect", "mindie", "--format", "markdown"])
    assert shown.exit_code == 0
    assert "|  | ovms-2024 | mindie-2.3 |" in shown.output
    assert "siliconstorm" not in shown.output
    assert "temperature" in run(print_matrix, ["--dialect", "mindie"]).output


@pytest.mark.parametrize("wrong", [["--check"], ["--dialect", "nobody"], ["--write", "x.md", "--dialect", "mindie"]])
def test_wrong_usage_ends_with_2(wrong: list[str]) -> None:
    assert CliRunner().invoke(print_matrix, wrong).exit_code == 2


def test_a_page_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    failed = CliRunner().invoke(print_matrix, ["--write", str(tmp_path / "none" / "dialects.md")])
    assert failed.exit_code == 2
    assert failed.stderr == f"chatproof: cannot write {tmp_path}/none/dialects.md: No such file or directory\n"
