"""Rows about fields of a parameter, in tables that show the nesting in several ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from openapi.tests.reading.pages import read

if TYPE_CHECKING:
    from collections.abc import Callable

FIELDS: Final = (
    (0, "model", "string", "yes"),
    (0, "messages", "array of objects", "yes"),
    (1, "role", "string", "yes"),
    (1, "content", "array of objects", "yes"),
    (2, "text", "string", "no"),
    (1, "name", "string", "no"),
    (0, "stream", "boolean", "no"),
)
HEADERS: Final = "<tr><th>Name</th><th>Type</th><th>Required</th></tr>"


def row(name: str, kind: str, required: str) -> str:
    return f"<tr><td>{name}</td><td>{kind}</td><td>{required}</td></tr>"


def with_spaces(space: str) -> str:
    return "\n".join(row(f"{space * 2 * depth}<code>{name}</code>", *rest) for depth, name, *rest in FIELDS)


def with_padding(style: str) -> str:
    return "\n".join(
        row(name, *rest).replace("<td>", f'<td style="{style}: {depth * 16}px">', 1) for depth, name, *rest in FIELDS
    )


def with_tables(headers: str) -> str:
    """Write the fields as tables in the cell of their type."""
    text = row("text", "string", "no")
    content = row("content", f"array of objects<table>{headers}{text}{row('kind', 'string', 'no')}</table>", "yes")
    fields = f"{row('role', 'string', 'yes')}{content}{row('name', 'string', 'no')}"
    messages = row("messages", f"array of objects<table>{headers}{fields}</table>", "yes")
    return f"{row('model', 'string', 'yes')}{messages}{row('stream', 'boolean', 'no')}"


def with_a_row_of_its_own(headers: str) -> str:
    """Write the fields as a table in a row below that of their parameter."""
    fields = "".join(row(name, *rest) for depth, name, *rest in FIELDS if depth == 1)
    inner = f'<tr><td colspan="3"><table>{headers}{fields}</table></td></tr>'
    outer = [row(name, *rest) for depth, name, *rest in FIELDS if depth == 0]
    return f"{outer[0]}{outer[1]}{inner}{outer[2]}"


def facts_of(rows: str) -> dict[str, tuple[tuple[str, ...], str | None]]:
    facts = read(f"<html><body><h2>Request body</h2><table>{HEADERS}{rows}</table></body></html>")
    assert () == facts.unread
    return {fact.path: (fact.types, fact.required) for fact in facts.facts if not fact.path.endswith("[]")}


NESTED: Final = {
    "model": (("string",), "yes"),
    "messages": (("array",), "yes"),
    "messages[].role": (("string",), "yes"),
    "messages[].content": (("array",), "yes"),
    "messages[].content[].text": (("string",), "no"),
    "messages[].name": (("string",), "no"),
    "stream": (("boolean",), "no"),
}


@pytest.mark.parametrize(
    ("write", "how"),
    [
        *((with_spaces, space) for space in ("&nbsp;", "&emsp;", "\u3000")),
        *((with_padding, style) for style in ("padding-left", "margin-left", "text-indent")),
    ],
)
def test_a_row_that_is_indented_is_a_field_of_the_row_above(write: Callable[[str], str], how: str) -> None:
    assert NESTED == facts_of(write(how))


@pytest.mark.parametrize("headers", ["", HEADERS])
def test_a_table_in_a_cell_has_the_fields_of_its_row(headers: str) -> None:
    facts = facts_of(with_tables(headers))
    assert (("string",), "no") == facts.pop("messages[].content[].kind")
    assert NESTED == facts


@pytest.mark.parametrize("headers", ["", HEADERS])
def test_a_table_in_a_row_of_its_own_has_the_fields_of_the_row_above(headers: str) -> None:
    assert {path: fact for path, fact in NESTED.items() if "text" not in path} == facts_of(
        with_a_row_of_its_own(headers)
    )


def test_a_row_of_markdown_that_is_indented_is_a_field_of_the_row_above() -> None:
    rows = ["| Name | Type | Required |", "|---|---|---|"]
    rows += [
        f"| {'&nbsp;' * 2 * depth}`{name}` | {kind} | {needed} |" for depth, name, kind, needed in FIELDS if depth < 2
    ]
    facts = read("## Request\n\n" + "\n".join(rows) + "\n").facts
    assert {path for path in NESTED if "text" not in path} == {
        fact.path for fact in facts if not fact.path.endswith("[]")
    }


def test_a_table_in_a_cell_that_describes_no_field_is_left_to_a_person() -> None:
    inner = "<table><tr><th>Plan</th><th>Price</th></tr><tr><td>a</td><td>1</td></tr></table>"
    rows = row("model", f"string{inner}", "yes") + row("stream", "boolean", "no")
    facts = read(f"<html><body><h2>Request body</h2><table>{HEADERS}{rows}</table></body></html>")
    assert ["Plan Price a 1"] == [passage.text for passage in facts.unread]
    assert {"model", "stream"} == {fact.path for fact in facts.facts}
