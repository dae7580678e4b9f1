"""What a page does not say clearly is left aside, with where it stands and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from openapi.reading.facts.cells import EMPTY, LOST
from openapi.reading.pages.page import rows_of
from openapi.tests.reading.flattened_pages import CELLS, CELLS_FACTS, PARAGRAPHS, PIPED
from openapi.tests.reading.pages import MARKDOWN, MARKDOWN_FACTS, read

if TYPE_CHECKING:
    from openapi.reading.facts.facts import Facts


def unread(facts: Facts) -> dict[str, tuple[str, ...]]:
    return {fact.path: fact.unread for fact in facts.facts if fact.unread}


def test_what_is_not_read_is_listed_beside_its_parameter() -> None:
    assert unread(read(MARKDOWN)) == {"dim": ("It is wise to stay above 0.5",)}
    assert unread(read(PIPED)) == {
        "messages": (LOST,),
        "messages[].role": ("The available roles are as follows:", LOST),
        "messages[].content": (EMPTY,),
    }
    assert unread(read(CELLS)) == {"temperature": ("小于0.001不好",)}
    assert unread(read(PARAGRAPHS)) == {
        "lamp": ("Which lamp",),
        "watch": (EMPTY,),
        "watch.often": ("Whether to look often", "In 3 of 4 cases that is too much"),
    }


def test_marks_inside_numbers_are_not_lost() -> None:
    cells = "int type, value range [0, 2<sup>31</sup>].", "int type, value range [0, <del>1</del>2]."
    for words in cells:
        page = MARKDOWN.replace("<p>Float type, value range (0.0, 2.0], default value 1.0.</p>", f"<p>{words}</p>")
        dim = next(fact for fact in read(page).facts if fact.path == "dim")
        assert (dim.types, dim.range) == (("integer",), ())
        assert "value range" in dim.unread[0]


def test_a_table_whose_part_nothing_tells_is_left() -> None:
    page = MARKDOWN + "\n# Odd\n\n| Parameter | Type | Description |\n|---|---|---|\n| a | int | b |\n"
    actual = read(page)
    assert actual.facts == MARKDOWN_FACTS
    assert [left.why for left in actual.left] == ["neither columns nor heading tell which part this table describes"]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ('rowspan="4"', 'rowspan="3"', "columns"),
        ("<td>-</td><td>colour</td>", "<td>colour</td>", "columns"),
        ('<td rowspan="4">-</td><td colspan="2">kind', '<td rowspan="4">-</td><td>-</td><td>kind', "nested levels"),
    ],
)
def test_rows_whose_spans_do_not_add_up_are_left(before: str, after: str, why: str) -> None:
    assert before in MARKDOWN
    actual = read(MARKDOWN.replace(before, after))
    assert any(why in left.why for left in actual.left)
    paths = {fact.path for fact in actual.facts}
    assert paths < {fact.path for fact in MARKDOWN_FACTS}


def test_a_new_row_is_left_where_the_page_does_not_show_its_level() -> None:
    row = "\n\nnovelty\n\n可选\n\n新的。\n\nint类型,取值范围[0, 5]。\n\n"
    page = CELLS.replace("\n\ntemperature\n\n", f"{row}temperature\n\n")
    inside = read(page)
    assert inside.facts == CELLS_FACTS
    (left,) = inside.left
    assert left.why == "the page does not show which level this row is in"
    assert left.line == page.split("\n").index("novelty") + 1
    assert left.text == "novelty or messages.novelty or messages.tool_calls.novelty"
    outside = read(CELLS.replace("\n\n使用样例", f"{row}使用样例"))
    assert "novelty" in {fact.path for fact in outside.facts}
    assert outside.left == ()


def test_what_lies_below_a_row_without_a_place_is_left_with_it() -> None:
    row = "\n\nnovelty\n\n可选\n\n新的。\n\ndict类型。\n\n-\n\nrole\n\n可选\n\n新的。\n\nint类型。\n\n"
    actual = read(CELLS.replace("\n\ntemperature\n\n", f"{row}temperature\n\n"))
    assert actual.facts == CELLS_FACTS
    assert [(left.text.split(" or ")[0], left.why) for left in actual.left] == [
        ("novelty", "the page does not show which level this row is in"),
        ("role", "it lies below a row that could not be placed"),
    ]


def test_a_name_that_a_level_holds_already_belongs_to_the_next_level_that_knows_it() -> None:
    rows = "\n\n-\n\nname\n\n必选\n\n名。\n\n字符串。\n\nname\n\n可选\n\n名。\n\n字符串。\n\n"
    page = CELLS.replace("\n\n  • name,必选,字符串,名字。\n\n", rows)
    actual = read(page)
    assert {"messages[].tool_calls[].function.name", "messages[].name"} <= {fact.path for fact in actual.facts}
    assert [left.text.split(" or ")[0] for left in actual.left] == ["id"]  # tool_calls is closed by then


def test_a_row_that_stands_twice_is_left() -> None:
    row = "\n\ntemperature\n\n可选\n\n又一次。\n\nint类型。\n\n"
    actual = read(CELLS.replace("\n\n使用样例", f"{row}使用样例"))
    assert actual.facts == CELLS_FACTS
    assert [left.why for left in actual.left] == ["a row of this name is there already"]


def test_a_row_with_an_odd_second_cell_is_still_a_row_of_its_own() -> None:
    row = "\n\nnovelty\n\n有时\n\n新的。\n\nint类型,取值范围[0, 5]。\n\n"
    actual = {fact.path: fact for fact in read(CELLS.replace("\n\n使用样例", f"{row}使用样例")).facts}
    assert CELLS_FACTS[7] == actual["temperature"]
    assert actual["novelty"].unread == ("有时",)


def test_two_tables_that_disagree_are_left_in_what_they_disagree_in() -> None:
    second = MARKDOWN[MARKDOWN.index("| Parameter Name") : MARKDOWN.index("| code")].replace("| bool |", "| int |")
    actual = {fact.path: fact for fact in read(MARKDOWN.replace("| code", f"{second}\n| code")).facts}
    assert actual["lit"].types == ()
    assert actual["lit"].unread == ("types: the page says both ('boolean',) and ('integer',)",)
    assert actual["lamp.name"].types == ("string",)


def test_two_cells_that_disagree_are_left_in_what_they_disagree_in() -> None:
    page = MARKDOWN.replace("<td>How dim it is.</td>", "<td>Number between 0.0 and 3.0.</td>")
    dim = next(fact for fact in read(page).facts if fact.path == "dim")
    assert dim.range == ()
    assert "value range (0.0, 2.0] / Number between 0.0 and 3.0" in dim.unread
    agreeing = MARKDOWN.replace("<td>How dim it is.</td>", "<td>Number between 0.0 and 2.0.</td>")
    assert read(agreeing).facts == MARKDOWN_FACTS


def test_a_torn_row_of_bars_is_left_and_ends_the_table() -> None:
    torn = PIPED.replace("Names the model. |\n", "Names | the model. |\n")
    actual = rows_of((torn + "\n\n" + MARKDOWN).encode(), "own")  # read as Markdown, since no row of bars is whole
    assert actual.form == "HTML or Markdown tables"
    later = PIPED.replace("Some words. |", "Some | words. |")
    (left,) = rows_of(later.encode(), "own").left
    assert left.why == "the row has 7 bars where the table has 6"
