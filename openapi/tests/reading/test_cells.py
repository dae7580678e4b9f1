"""Cells: clauses and lists are read together; lost content, lists and prose are distinguished."""

from __future__ import annotations

from decimal import Decimal

import pytest

from openapi.reading.facts.cells import EMPTY, LOST, read_cell
from openapi.reading.pages.row import Cell, Item
from openapi.tests.reading.wording import Statements, cell, one, stated


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ("float类型,取值范围(0.0, 3.0],默认值1.5,可以为null。",),
            {
                "types": ("number",),
                "range": one(Decimal("0.0"), Decimal("3.0"), True),
                "default": 1.5,
                "nullable": True,
            },
        ),
        (
            ("The value is of the integer type. The value range is [1, 9]. The default value is 3.",),
            {"types": ("integer",), "range": one(1, 9), "default": 3},
        ),
        (
            ("字符串类型,可取角色有:", "- a:first", "- b:second"),
            {"types": ("string",), "enum": ("a", "b")},
        ),
        (
            ("string type or dict type.", '- "none": no', '- "all": yes'),
            {"types": ("object", "string"), "enum": ("none", "all")},
        ),
        (
            ("bool类型,默认值false。", "- true:yes", "- false:no"),
            {"types": ("boolean",), "default": False},
        ),
        (
            ("dict类型。", "- left,必选,字符串,the one.", "- right,可选,字符串,the other."),
            {
                "types": ("object",),
                ".left.types": ("string",),
                ".left.required": "yes",
                ".right.types": ("string",),
                ".right.required": "no",
            },
        ),
        (("- string:", "-- 非空", "- list:as above"), {"also": ("array",), "length": one(1)} | {"also": ("string",)}),
        (
            ('通过{"type": "f", "f": {"name": "x"}}指定特定的工具',),
            {".type.types": ("string",), ".type.enum": ("f",), ".f.types": ("object",), ".f.name.types": ("string",)},
        ),
        (
            ("当role为robot,且wheels非空时,p可以不传,其余角色非空。",),
            {"required": "unless role=robot and wheels", "length": one(1)},
        ),
        (
            ("If the role is 'robot' and wheels is not empty, p can be omitted; for other roles, p must be provided.",),
            {"required": "unless role=robot and wheels"},
        ),
        (
            ("Each object in the list should contain left and right - both of string type.",),
            {
                "[].left.types": ("string",),
                "[].left.required": "yes",
                "[].right.types": ("string",),
                "[].right.required": "yes",
            },
        ),
        (
            ("Consists of two integer fields: ups and downs that tell more.",),
            {".ups.types": ("integer",), ".downs.types": ("integer",)},
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_clauses_and_lists_of_a_cell_are_read_together(lines: tuple[str, ...], expected: Statements) -> None:
    statements = read_cell(cell(*lines), "p").statements
    actual = {
        f"{statement.at}.{statement.attribute}" if statement.at else statement.attribute: statement.value
        for statement in statements
    }
    if "also" in actual:
        assert sorted(statement.value for statement in statements if statement.attribute == "also") == [
            ("array",),
            ("string",),
        ]
        actual["also"] = expected["also"]
    assert expected == actual


def test_an_unread_clause_does_not_affect_the_clauses_around_it() -> None:
    actual = read_cell(cell("float类型,随机性越大越好,默认值1.0,不建议修改。取值范围[0, 1]。"), "p")
    assert actual.unread == ("随机性越大越好", "不建议修改")
    assert {"types": ("number",), "default": 1.0, "range": one(0, 1)} == {
        statement.attribute: statement.value for statement in actual.statements
    }


def test_an_announcement_without_its_list_is_unread() -> None:
    assert read_cell(cell("字符串类型,可取角色有:"), "p").unread == ("可取角色有:",)
    assert read_cell(cell("字符串类型,可取角色有:", "- a:one", "- b:two"), "p").unread == ()


def test_lost_and_empty_cells_are_unread() -> None:
    assert read_cell(Cell((Item("bool类型", 0, 1),), 1, lost=True), "p").unread == (LOST,)
    assert read_cell(Cell((), 1), "p").unread == (EMPTY,)


def test_entries_that_are_labels_are_not_values() -> None:
    assert {"default": 5, "range": one(0, 9)} == stated("- default: 5", "- range: [0, 9]")
    assert stated("- Note: beware", "- Example: this one") == {}
    assert stated("- alone: a single entry is not an enumeration") == {}


def test_entries_with_facts_of_their_own_are_not_values() -> None:
    lines = ("- chat: default value 0.5", "- base: default value 0.7")
    actual = read_cell(cell(*lines), "p")
    assert actual.statements == ()
    assert actual.unread == ("chat: default value 0.5", "base: default value 0.7")


def test_explained_numbers_are_values_only_after_an_announcement() -> None:
    entries = ("- 0: cold", "- 1: warm")
    assert stated(*entries) == {}
    assert stated("Possible values:", *entries) == {"enum": (0, 1)}


def test_in_prose_only_text_that_may_state_a_fact_is_unread() -> None:
    words = "It steers the choice of words. The best value is 0.7."
    assert read_cell(cell(words), "p", prose=True).unread == ("The best value is 0.7",)
    assert read_cell(cell(words), "p").unread == ("It steers the choice of words", "The best value is 0.7")
