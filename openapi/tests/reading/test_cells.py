"""Value cells: clauses and lists are read together, and what is lost, listed or prose is told apart."""

from __future__ import annotations

from decimal import Decimal

import pytest

from openapi.reading.facts.cells import EMPTY, LOST, read_cell
from openapi.reading.pages.row import Cell, Item
from openapi.tests.reading.wording import Said, cell, one, said


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
    ids=lambda each: str(each)[:60],
)
def test_clauses_and_lists_of_a_cell_are_read_together(lines: tuple[str, ...], expected: Said) -> None:
    pieces = read_cell(cell(*lines), "p").pieces
    actual = {f"{piece.at}.{piece.attribute}" if piece.at else piece.attribute: piece.value for piece in pieces}
    if "also" in actual:
        assert sorted(piece.value for piece in pieces if piece.attribute == "also") == [("array",), ("string",)]
        actual["also"] = expected["also"]
    assert expected == actual


def test_unread_clauses_leave_the_read_ones_beside_them() -> None:
    actual = read_cell(cell("float类型,随机性越大越好,默认值1.0,不建议修改。取值范围[0, 1]。"), "p")
    assert actual.unread == ("随机性越大越好", "不建议修改")
    assert {"types": ("number",), "default": 1.0, "range": one(0, 1)} == {
        piece.attribute: piece.value for piece in actual.pieces
    }


def test_a_list_that_is_announced_and_missing_is_left() -> None:
    assert read_cell(cell("字符串类型,可取角色有:"), "p").unread == ("可取角色有:",)
    assert read_cell(cell("字符串类型,可取角色有:", "- a:one", "- b:two"), "p").unread == ()


def test_lost_and_empty_cells_are_left() -> None:
    assert read_cell(Cell((Item("bool类型", 0, 1),), 1, lost=True), "p").unread == (LOST,)
    assert read_cell(Cell((), 1), "p").unread == (EMPTY,)


def test_entries_that_look_like_labels_are_no_values() -> None:
    assert {"default": 5, "range": one(0, 9)} == said("- default: 5", "- range: [0, 9]")
    assert said("- Note: beware", "- Example: this one") == {}
    assert said("- alone: one entry enumerates nothing") == {}


def test_entries_that_hold_facts_of_their_own_are_no_values() -> None:
    lines = ("- chat: default value 0.5", "- base: default value 0.7")
    actual = read_cell(cell(*lines), "p")
    assert actual.pieces == ()
    assert actual.unread == ("chat: default value 0.5", "base: default value 0.7")


def test_numbers_that_are_explained_are_values_only_where_all_are_promised() -> None:
    entries = ("- 0: cold", "- 1: warm")
    assert said(*entries) == {}
    assert said("Possible values:", *entries) == {"enum": (0, 1)}


def test_of_prose_only_what_may_hold_a_fact_is_left() -> None:
    words = "It steers the choice of words. The best value is 0.7."
    assert read_cell(cell(words), "p", prose=True).unread == ("The best value is 0.7",)
    assert read_cell(cell(words), "p").unread == ("It steers the choice of words", "The best value is 0.7")
