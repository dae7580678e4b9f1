"""The matrix of dialects: the committed page is up to date, and each cell matches the schema of its dialect."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import openapi
from openapi.contract.contract import Contract, list_all, load
from openapi.description.matrix import INDENT, NOTHING, Section, render_markdown, sections
from openapi.schema.fields import list_fields
from openapi.schema.notation import accepts_null, format_number, notation
from openapi.spec_commands import print_matrix

ROOT = Path(openapi.__file__).parent.parent
PAGE = ROOT / "docs" / "dialects.md"
CONTRACTS = [load(dialect) for dialect in list_all()]
TABLES = {section.title: section for section in sections(CONTRACTS)}
UPDATE = "run `chatproof spec matrix --write docs/dialects.md`"


def cells(section: str, name: str) -> dict[str, str]:
    """Return the cells of a top-level row by dialect."""
    [row] = [row for row in TABLES[section].rows if row.name == name and row.depth == 0]
    return dict(zip((contract.name for contract in CONTRACTS), row.cells, strict=True))


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the page is not part of an installed distribution")
def test_the_committed_page_is_up_to_date() -> None:
    assert PAGE.read_bytes() == render_markdown(CONTRACTS).encode(), UPDATE


def test_every_parameter_field_error_kind_and_capability_has_a_row() -> None:
    requests = {row.name for row in TABLES["Requests"].rows if row.depth == 0}
    refusals = {row.name for row in TABLES["Refusals"].rows}
    servers = {row.name for row in TABLES["Servers"].rows}
    for contract in CONTRACTS:
        assert requests >= {*contract.parameters, *contract.unsupported}
        assert refusals >= set(contract.errors.kinds)
        assert servers >= set(contract.capabilities)
    for title, root in (("Answers", "ChatCompletion"), ("Streams", "ChatCompletionChunk")):
        top = {row.name for row in TABLES[title].rows if row.depth == 0}
        fields = [field for item in CONTRACTS for field in list_fields(item.schemas[root], item.schemas)]
        assert top >= {field.path for field in fields if "." not in field.path and not field.is_element}


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: str(contract.name))
def test_a_dash_marks_what_a_dialect_does_not_have(contract: Contract) -> None:
    for row in TABLES["Requests"].rows:
        if row.depth == 0:
            cell = row.cells[CONTRACTS.index(contract)]
            if row.name in contract.parameters:
                assert cell.startswith(notation(contract.parameters[row.name].schema, contract.schemas))
            else:
                assert cell == ("not supported" if row.name in contract.unsupported else NOTHING)


def test_cells_show_range_default_null_and_capability() -> None:
    assert cells("Requests", "temperature")["mindie-2.3"] == "number [0, 2]\ndefault 1, null?"
    assert cells("Requests", "temperature")["mindie-vllm-1.0"] == "number ≥ 0\ndefault 1, null"
    assert cells("Requests", "model")["ovms-2024"] == "string\nrequired, no null"
    assert cells("Requests", "n")["mindie-2.3"] == "integer [1, 128]\ndefault 1, null, if n"
    assert cells("Requests", "n")["mindie-1.0"] == NOTHING
    assert cells("Requests", "top_k")["mindie-vllm-1.0"].splitlines() == [
        "integer [-1, 2^31-1], not 0",
        "default: decided by the backend model, null",
    ]
    assert cells("Requests", "tools")["ovms-2024"] == "not supported"
    assert cells("Requests", "stop")["mindie-2.3"].endswith("\ndefault null, null, if stop")
    assert cells("Answers", "id")["ovms-2024"] == NOTHING
    assert cells("Refusals", "invalid_request")["ovms-2024"] == "400"
    assert cells("Refusals", "unauthorized")["siliconstorm"] == "401, code 702"
    assert cells("Refusals", "unauthorized")["mindie-2.3"] == NOTHING
    assert cells("Servers", "tools")["ovms-2024"] == NOTHING
    [role] = [row for row in TABLES["Streams"].rows if row.words == "role is sent"]
    assert role.cells[[contract.name for contract in CONTRACTS].index("ovms-2024")] == "first-delta"


def test_nested_rows_follow_their_parent() -> None:
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


def test_every_table_row_of_the_page_has_all_columns() -> None:
    lines = [line for line in render_markdown(CONTRACTS).splitlines() if line.startswith("|")]
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
        ({"type": "string", "maxLength": 9}, "string of up to 9 characters"),
        ({"type": "string", "minLength": 1, "maxLength": 1}, "string of 1 character"),
        ({"type": "string", "minLength": 1}, "string of 1+ characters"),
        ({"enum": ["a", "b", None]}, '"a" or "b"'),
        ({"const": "a"}, '"a"'),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 4}, "array of 1 to 4 items: string"),
        ({"type": "array", "x-maxCharacters": 2**22}, "array, 2^22 characters in all"),
        ({"anyOf": [{"type": "string"}, {"type": "string"}, {"type": "array"}]}, "string or array"),
        ({"properties": {"a": {}}}, "object"),
        ({"$ref": "#/components/schemas/S"}, "boolean"),
        ({}, "anything"),
    ],
    ids=str,
)
def test_schemas_have_a_short_notation(schema: dict[str, Any], shown: str) -> None:
    assert notation(schema, {"S": {"type": "boolean"}}) == shown


@pytest.mark.parametrize(
    ("schema", "accepted"),
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
def test_schemas_that_accept_null_are_recognised(schema: dict[str, Any], accepted: bool) -> None:
    assert accepts_null(schema, {"S": {"type": ["string", "null"]}}) is accepted


def test_numbers_are_formatted_in_short() -> None:
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
    assert {value: format_number(value) for value in shown} == shown


def test_the_fields_of_branches_are_combined() -> None:
    schemas = {
        "A": {"type": "object", "required": ["k"], "properties": {"k": {"const": "a"}, "x": {"type": "string"}}},
        "B": {
            "type": "object",
            "required": ["k", "y"],
            "properties": {"k": {"const": "b"}, "y": {"$ref": "#/components/schemas/L"}},
        },
        "L": {"type": "array", "items": {"type": "object", "additionalProperties": {"properties": {"z": {}}}}},
    }
    fields = list_fields(
        {"oneOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}]}, schemas, "m"
    )
    assert [(field.path, field.required, len(field.schemas), field.depth) for field in fields] == [
        ("m.k", "yes", 2, 1),
        ("m.x", "no", 1, 1),
        ("m.y", "some", 1, 1),
        ("m.y[]", "no", 1, 1),
        ("m.y[].*", "no", 1, 2),
        ("m.y[].*.z", "no", 1, 3),
    ]
    assert [field.path for field in fields if field.is_element] == ["m.y[]", "m.y[].*"]
    assert {field.path: field.parent for field in fields}["m.y[].*"] == "m.y[]"


def test_the_fields_of_a_recursive_schema_end_at_a_depth() -> None:
    schemas = {"S": {"type": "object", "properties": {"s": {"$ref": "#/components/schemas/S"}}}}
    fields = list_fields({"$ref": "#/components/schemas/S"}, schemas)
    assert [field.path for field in fields][:2] == ["s", "s.s"]
    assert len(fields) == 10


def test_the_command_writes_and_checks_the_page(tmp_path: Path) -> None:
    run, page = CliRunner().invoke, tmp_path / "dialects.md"
    assert run(print_matrix, ["--write", str(page), "--check"]).exit_code == 1
    assert run(print_matrix, ["--write", str(page)]).exit_code == 0
    assert page.read_text(encoding="utf-8") == render_markdown(CONTRACTS)
    assert run(print_matrix, ["--write", str(page), "--check"]).exit_code == 0
    page.write_text("else")
    stale = run(print_matrix, ["--write", str(page), "--check"])
    assert stale.exit_code == 1
    assert f"run `chatproof spec matrix --write {page}`" in stale.output


def test_the_command_shows_the_selected_dialects() -> None:
    run = CliRunner().invoke
    shown = run(print_matrix, ["--dialect", "ovms", "--dialect", "mindie", "--format", "markdown"])
    assert shown.exit_code == 0
    assert "|  | ovms-2024 | mindie-2.3 |" in shown.output
    assert "siliconstorm" not in shown.output
    assert "temperature" in run(print_matrix, ["--dialect", "mindie"]).output


@pytest.mark.parametrize("wrong", [["--check"], ["--dialect", "unknown"], ["--write", "x.md", "--dialect", "mindie"]])
def test_a_usage_error_exits_with_2(wrong: list[str]) -> None:
    assert CliRunner().invoke(print_matrix, wrong).exit_code == 2


def test_a_page_that_cannot_be_written_is_reported_in_one_line(tmp_path: Path) -> None:
    failed = CliRunner().invoke(print_matrix, ["--write", str(tmp_path / "none" / "dialects.md")])
    assert failed.exit_code == 2
    assert failed.stderr == f"chatproof: cannot write {tmp_path}/none/dialects.md: No such file or directory\n"
