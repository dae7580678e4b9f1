"""Pages in six layouts: the dialect has exactly the facts that each states, and to-dos only for what none can hold."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pytest

from openapi.contract.contract import load
from openapi.reading.compare.contract_facts import contract_facts
from openapi.reading.facts.fact import ATTRIBUTES
from openapi.reading.grammar.interval import Interval
from openapi.reading.pages.entries.parameter_sections import MIN_HEADINGS
from openapi.tests.importing.importing import imported
from openapi.tests.importing.vendor_pages import FIELDS, LAYOUTS, Described, headings, html_table
from openapi.tests.reading.pages import read

if TYPE_CHECKING:
    from pathlib import Path

    from openapi.reading.facts.fact import Fact

TEXT: Final = {"types": ("string",)}
UNLESS_CALLS: Final = "unless role=assistant and function_call and tool_calls"
STATED: Final[dict[str, dict[str, Any]]] = {
    "model": {**TEXT, "required": "yes"},
    "messages": {"types": ("array",), "required": "yes", "items": (Interval(1, 32),)},
    "messages[].role": {**TEXT, "required": "yes", "enum": ("system", "user", "assistant")},
    "messages[].content": {**TEXT, "required": UNLESS_CALLS, "length": (Interval(0, 8000),)},
    "temperature": {"types": ("number",), "required": "no", "default": 0.7, "range": (Interval(0, Decimal("1.5")),)},
    "max_tokens": {"types": ("integer",), "required": "no", "range": (Interval(1, 4096),)},
    "stop": {"types": ("array",), "required": "no", "items": (Interval(0, 4),)},
    "stop[]": TEXT,
    "stream": {"types": ("boolean",), "required": "no", "default": False},
    "user": {**TEXT, "required": "no", "length": (Interval(0, 64),)},
    "mood": {**TEXT, "required": "no", "enum": ("calm", "lively"), "default": "calm"},
    "seed": {"types": ("integer",), "required": "no", "nullable": True},
}
"""The facts that every page states. Content is required by a rule of the extended dialect, except next to calls."""


LEFT_WITH_A_TYPE: Final = {
    *(("messages[].content", "items"), ("stop", "length"), ("stop[]", "length")),
    ("stop", "default"),  # null
}
"""What the extended dialect says about values of types that the pages leave out, and about elements of such lists."""


def facts_of(name: str, tmp_path: Path) -> tuple[dict[str, Fact], list[str]]:
    contract, todos = imported(LAYOUTS[name](FIELDS), tmp_path, name)
    facts = {path: known.fact for (part, path), known in contract_facts(contract).items() if part == "request"}
    return facts, todos


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_dialect_has_each_stated_fact_and_nothing_is_left_to_do(name: str, tmp_path: Path) -> None:
    facts, todos = facts_of(name, tmp_path)
    assert [] == todos
    actual = {path: {key: getattr(facts[path], key) for key in stated} for path, stated in STATED.items()}
    assert STATED == actual


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_a_page_does_not_state_is_that_of_the_extended_dialect(name: str, tmp_path: Path) -> None:
    facts, _ = facts_of(name, tmp_path)
    base = {path: known.fact for (part, path), known in contract_facts(load("openai")).items() if part == "request"}
    outer = {path for path in facts if "." not in path and "[" not in path and facts[path].supported}
    assert {path for path in STATED if "." not in path and "[" not in path} == outer
    changed = {
        (path, key)
        for path, stated in STATED.items()
        if path in base
        for key in ATTRIBUTES
        if key not in stated and key != "nullable" and getattr(facts[path], key) != getattr(base[path], key)
    }
    assert changed <= LEFT_WITH_A_TYPE


@pytest.mark.takes_turns
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize(
    ("says", "todo"),
    [
        ("At most 64 characters, ignored by old models.", "ignored by old models"),
        ("Must be a name in your address book.", "Must be a name in your address book"),
        ("Required if `stream` is set.", "Required if stream is set"),
    ],
)
def test_a_statement_that_no_dialect_can_hold_is_the_only_todo(name: str, says: str, todo: str, tmp_path: Path) -> None:
    fields = [replace(field, says=says) if field.path == "user" else field for field in FIELDS]
    _, todos = imported(LAYOUTS[name](fields), tmp_path, name)
    assert (1, True) == (len(todos), todo in todos[0].replace("`", "")), todos
    assert todos[0].startswith("user (line ")


def paths(page: str) -> list[str]:
    return sorted(fact.path for fact in read(page).facts if not fact.path.endswith("[]"))


def test_a_list_below_the_heading_of_a_parameter_has_its_values_or_its_fields() -> None:
    page = headings([field for field in FIELDS if "." not in field.path and field.path != "mood"])
    page += "\n### `mood`\n\nstring, optional\n\nPossible values:\n\n- `calm`: no haste.\n- `lively`: some haste.\n"
    page += "\n### `shape`\n\nobject, optional\n\n- `width` (number, required): In feet.\n"
    page += "- `height` (number): In feet.\n"
    facts = {fact.path: fact for fact in read(page).facts}
    assert ("calm", "lively") == facts["mood"].enum
    assert ("yes", ("number",)) == (facts["shape.width"].required, facts["shape.height"].types)
    assert {"calm", "lively", "width", "height"}.isdisjoint(facts)


@pytest.mark.parametrize("style", ["**Type:** {kind}\n\n**Required:** {yes}", "- Type: {kind}\n- Required: {yes}"])
def test_lines_with_labels_below_a_heading_state_type_and_presence(style: str) -> None:
    page = "## Request body\n\n### knob\n\n" + style.format(kind="number", yes="no")
    page += "\n\nBetween 0 and 2.\n\n### model\n\n" + style.format(kind="string", yes="yes") + "\n"
    facts = {fact.path: fact for fact in read(page).facts}
    assert (("number",), "no", "0..2") == (facts["knob"].types, facts["knob"].required, str(facts["knob"].range[0]))
    assert (("string",), "yes") == (facts["model"].types, facts["model"].required)


@pytest.mark.parametrize(
    "page",
    [
        "## Request guide\n\n### Overview\n\nstring theory\n\n### Pricing\n\nNumbers.\n",
        "## Request guide\n\n### `model` in detail\n\nWords.\n\n### `seed` and you\n\nWords.\n",
        f"## Request guide\n\n{'### `alone`' * (MIN_HEADINGS - 1)}\n\nstring, required\n",
    ],
)
def test_other_headings_are_no_parameters(page: str) -> None:
    table = "## Response\n\n| Name | Type |\n|---|---|\n| id | string |\n"
    assert ["id"] == paths(f"{page}\n{table}")


def test_headings_of_an_unknown_part_are_left_to_a_person() -> None:
    page = headings(FIELDS).replace("Request body", "Odds and ends") + "\n" + html_table(FIELDS[:1])
    assert FIELDS[0].name in paths(page)
    assert [unread.text for unread in read(page).unread][:2] == ["model", "messages"]


def test_a_level_of_headings_ends_where_a_higher_one_begins() -> None:
    inner = [Described("shape", "object", False, "A shape."), Described("shape[].width", "number", True, "Its width.")]
    page = headings([*inner, Described("model", "string", True, "The model.")])
    assert ["model", "shape", "shape.width"] == paths(page)
