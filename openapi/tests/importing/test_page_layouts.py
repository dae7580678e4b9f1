"""Layouts of pages: tables below parameters, other operations, cells without words, values in lists, damaged rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from openapi.reading.facts.facts import read_facts
from openapi.reading.grammar.interval import format_range
from openapi.reading.grammar.statement import UNSTATED
from openapi.reading.pages.nesting import NOWHERE
from openapi.reading.pages.operations import OTHER_SECTION
from openapi.reading.pages.page import read_page
from openapi.schema.server_limits import SERVER_LIMITS
from openapi.tests.importing.importing import imported
from openapi.tests.importing.test_unusual_pages import facts_of

if TYPE_CHECKING:
    from pathlib import Path

SECTIONS = """\
# Puffin API

## Request fields

#### `messages`

- Type: array of objects
- Required: yes

**Properties:**

| Field | Type | Required |
|---|---|---|
| `role` | string | yes |
| `beak` | object | no |

**beak properties:**

| Field | Type | Required |
|---|---|---|
| `hue` | string | no |

**Feather properties:**

| Field | Type | Required |
|---|---|---|
| `quill` | string | no |

#### `mood`

- Type: string or null
- Required: no
- Default: calm

How it speaks: `calm` or `wild`.

- `calm`: softly
- `wild`: loudly
"""
OPERATIONS = """\
# Puffin reference

## Embeddings

| Parameter | Type | Required | Description |
|---|---|---|---|
| `input` | string | yes | What is embedded. |
| `temperature` | number | no | Between 0 and 9. |

## Chat completions

**Path parameters**

| Parameter | Type | Required | Description |
|---|---|---|---|
| `nest` | string | yes | Where the model lives. |

**Request body**

| Parameter | Type | Required | Description |
|---|---|---|---|
| `messages` | array | yes | The turns. |
| `temperature` | number | no | Between 0 and 3. |
"""
ROW = "### Request body\n\n| Name | Type | Required | Default | Description |\n|---|---|---|---|---|\n{0}\n"


def test_a_table_below_a_parameter_has_its_fields_and_one_of_an_unknown_object_is_left_to_a_person() -> None:
    rows = read_page(SECTIONS.encode(), "page.md")
    facts = {fact.path: fact.types for fact in read_facts(rows, strict=False).facts}
    expected = {
        "messages": ("array",),
        "messages[]": ("object",),
        "messages[].role": ("string",),
        "messages[].beak": ("object",),
        "messages[].beak.hue": ("string",),
        "mood": ("string",),
    }
    assert expected == {path: facts[path] for path in expected}
    assert set(expected) == set(facts)
    assert [(NOWHERE, "feather")] == [(one.reason, one.text) for one in rows.unread]


def test_parameters_of_the_path_and_of_other_operations_are_no_parameters_of_the_body() -> None:
    rows = read_page(OPERATIONS.encode(), "page.md")
    facts = read_facts(rows, strict=False).facts
    assert ["messages", "temperature"] == [fact.path for fact in facts]
    assert "0..3" == format_range(facts[1].range)
    assert [OTHER_SECTION] == [one.reason for one in rows.unread]


def test_a_field_that_only_the_parameter_above_it_has_belongs_to_it() -> None:
    rows = (
        "| messages | array | yes | | The turns. |\n| role | string | yes | | Who speaks. |\n"
        "| content | string | yes | | What. |\n| wing | string | no | | Its own. |\n| role | string | no | | Where. |"
    )
    assert ["messages", "messages[].role", "messages[].content", "wing", "role"] == list(facts_of(ROW.format(rows)))


def test_lower_bounds_of_strings_and_lists_stay_limits_of_our_own_server(tmp_path: Path) -> None:
    rows = "| model | string | yes | | The model. |\n| stop | string or array of strings | no | | At most 3 items. |"
    contract, _ = imported(ROW.format(rows), tmp_path, "page.md")
    stop = {branch["type"]: branch for branch in contract.parameters["stop"].schema["anyOf"]}
    assert {"minLength": 1} == stop["string"][SERVER_LIMITS]
    assert {"minLength": 1} == stop["array"]["items"][SERVER_LIMITS]
    assert ("minLength" in stop["string"], stop["array"].get("minItems")) == (False, None)


@pytest.mark.parametrize("title", ["Request headers", "Query parameters", "Path params", "请求头", "路径参数"])
def test_a_table_of_headers_or_of_the_query_is_not_read(title: str) -> None:
    assert ["messages", "temperature"] == list(facts_of(OPERATIONS.replace("Path parameters", title)))


def test_the_type_of_the_elements_behind_that_of_a_list_is_no_tag() -> None:
    facts = facts_of(
        ROW.format("| stop | List<string> | no | | Its<br>ends, <b>all</b>. |\n| x | List<Turn> | no | | y |")
    )
    assert (("array",), ("string",)) == (facts["stop"].types, facts["stop[]"].types)
    assert ("List<Turn>",) == facts["x"].unread


def test_lower_bounds_stay_limits_of_our_own_server_also_for_one_of_several_types(tmp_path: Path) -> None:
    rows = "| model | string | yes | | The model. |\n| stop | List<string> | no | | At most 3 items. |"
    contract, _ = imported(ROW.format(rows), tmp_path, "page.md")
    schema = contract.parameters["stop"].schema
    assert ({"minItems": 1}, {"minLength": 1}) == (schema[SERVER_LIMITS], schema["items"][SERVER_LIMITS])


@pytest.mark.parametrize("words", ["—", "-", "N/A", "n/a", "无", "/", "(none)", "Not applicable"])
def test_a_cell_that_says_that_there_is_no_default_states_none(words: str) -> None:
    fact = facts_of(ROW.format(f"| mood | string | no | {words} | How it speaks. |"))["mood"]
    assert UNSTATED is fact.default
    assert () == fact.unread


@pytest.mark.parametrize(
    ("kind", "written", "expected"),
    [
        ("array", "`[]`", []),
        ("object", '`{"mode": "calm"}`', {"mode": "calm"}),
        ("number", "1", 1.0),
        ("string", "`[]`", "[]"),
    ],
)
def test_a_default_in_json_is_a_value_of_the_type(kind: str, written: str, expected: object) -> None:
    fact = facts_of(ROW.format(f"| mood | {kind} | no | {written} | How it speaks. |"))["mood"]
    assert expected == fact.default


def test_one_number_in_two_notations_is_one_default() -> None:
    fact = facts_of(ROW.format("| mood | number | no | 1.0 | How it speaks. Defaults to 1. |"))["mood"]
    assert (1.0, ()) == (fact.default, fact.unread)
    other = facts_of(ROW.format("| mood | number | no | 1.5 | How it speaks. Defaults to 1. |"))["mood"]
    assert UNSTATED is other.default


@pytest.mark.parametrize("words", ["None", "`null`", "none"])
def test_a_description_without_words_says_nothing_about_null(words: str) -> None:
    assert facts_of(ROW.format(f"| mood | string | no | - | {words} |"))["mood"].nullable is None
    assert facts_of(ROW.format("| mood | string | no | - | Can be null. |"))["mood"].nullable is True


def test_a_line_break_in_a_cell_separates_statements() -> None:
    words = "How it speaks.<br>Minimum: 0<br/>Maximum: 3<br>**Default**: `2`"
    fact = facts_of(ROW.format(f"| mood | number | no | | {words} |"))["mood"]
    assert ("[0, 3]", 2.0) == (format_range(fact.range), fact.default)


def test_a_bar_in_a_cell_leaves_the_row_to_a_person_instead_of_shifting_its_cells() -> None:
    rows = read_page(
        ROW.format("| mood | string | null | no | calm | How. |\n| hue | string | no | | x |").encode(), "page.md"
    )
    assert [("hue",)] == [row.path for row in rows.rows]
    assert ["mood | string | null | no | calm"] == [one.text for one in rows.unread]


def test_a_rule_of_another_width_than_the_header_does_not_hide_the_table() -> None:
    page = ROW.format("| mood | string | no | calm | How it speaks. |").replace("|---|---|---|---|---|", "|---|---|")
    assert ("string",) == facts_of(page)["mood"].types
