"""The cells of the columns `required` and `type`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from openapi.reading.facts.required_cells import read_required_cell, read_type_cell
from openapi.reading.grammar.statement import DescribedDefault

if TYPE_CHECKING:
    from openapi.tests.reading.wording import Statements

REQUIRED = [
    ("必选", "yes"),
    ("可选。", "no"),
    ("Required", "yes"),
    ("Mandatory", "yes"),
    ("optional", "no"),
    ("当role为tool时必选,否则可选", "when role=tool"),
    ("Mandatory when kind is set to x. Otherwise, it is optional.", "when kind=x"),
    ('Required when the kind is "x", otherwise optional.', "when kind=x"),
]


@pytest.mark.parametrize(("text", "expected"), REQUIRED)
def test_required_cells_are_read(text: str, expected: str) -> None:
    actual = read_required_cell(text)
    assert [expected] == [statement.value for statement in actual.statements]
    assert actual.unread == ()


@pytest.mark.parametrize("text", ["", "mostly", "必选(仅多模态)", "Required when it rains", "yes and no"])
def test_other_wordings_are_unread(text: str) -> None:
    assert ((), (text,)) == (read_required_cell(text).statements, read_required_cell(text).unread)


@pytest.mark.parametrize(
    ("text", "expected", "unread"),
    [
        ("string", {"types": ("string",)}, ()),
        ("integer or null", {"types": ("integer",), "nullable": True}, ()),
        (
            "string/array of strings (optional)",
            {"types": ("array", "string"), "[].types": ("string",), "required": "no"},
            (),
        ),
        ("bool (optional, default: false)", {"types": ("boolean",), "required": "no", "default": False}, ()),
        ("float (default: 1.0)", {"types": ("number",), "default": 1.0}, ()),
        ("int (default: all tokens)", {"types": ("integer",), "default": DescribedDefault("all tokens")}, ()),
        (
            "bool (default: false if stream=false, true if stream=true)",
            {
                "types": ("boolean",),
                "default": DescribedDefault("false for a non-streamed response, true for a stream"),
            },
            (),
        ),
        ("int (default: the moon)", {"types": ("integer",), "default": "the moon"}, ()),
        ("blob (optional)", {}, ("blob (optional)",)),
    ],
)
def test_type_cells_are_read_with_their_brackets(text: str, expected: Statements, unread: tuple[str, ...]) -> None:
    actual = read_type_cell(text, "p")
    assert expected == {f"{p.at}.{p.attribute}" if p.at else p.attribute: p.value for p in actual.statements}
    assert unread == actual.unread
