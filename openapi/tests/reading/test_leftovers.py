"""Unclear passages of a page are reported as unread, with their line and the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from openapi.reading.facts.cells import EMPTY, LOST
from openapi.reading.pages.columns import NO_PART
from openapi.reading.pages.page import read_page
from openapi.tests.reading.flattened_pages import CELLS, CELLS_FACTS, PARAGRAPHS, PIPED
from openapi.tests.reading.pages import MARKDOWN, MARKDOWN_FACTS, read

if TYPE_CHECKING:
    from openapi.reading.facts.facts import Facts


def unread(facts: Facts) -> dict[str, tuple[str, ...]]:
    return {fact.path: fact.unread for fact in facts.facts if fact.unread}


def test_unread_text_is_listed_with_its_parameter() -> None:
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


def test_markup_inside_numbers_is_kept() -> None:
    cells = "int type, value range [0, 2<sup>31</sup>].", "int type, value range [0, <del>1</del>2]."
    for words in cells:
        page = MARKDOWN.replace("<p>Float type, value range (0.0, 2.0], default value 1.0.</p>", f"<p>{words}</p>")
        dim = next(fact for fact in read(page).facts if fact.path == "dim")
        assert (dim.types, dim.range) == (("integer",), ())
        assert "value range" in dim.unread[0]


def test_a_table_of_an_unknown_part_is_unread() -> None:
    page = MARKDOWN + "\n# Odd\n\n| Parameter | Type | Description |\n|---|---|---|\n| a | int | b |\n"
    actual = read(page)
    assert actual.facts == MARKDOWN_FACTS
    assert [passage.reason for passage in actual.unread] == [NO_PART]


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ('rowspan="4"', 'rowspan="3"', "columns"),
        ("<td>-</td><td>colour</td>", "<td>colour</td>", "columns"),
        ('<td rowspan="4">-</td><td colspan="2">kind', '<td rowspan="4">-</td><td>-</td><td>kind', "nested levels"),
    ],
)
def test_rows_with_inconsistent_spans_are_unread(before: str, after: str, reason: str) -> None:
    assert before in MARKDOWN
    actual = read(MARKDOWN.replace(before, after))
    assert any(reason in passage.reason for passage in actual.unread)
    paths = {fact.path for fact in actual.facts}
    assert paths < {fact.path for fact in MARKDOWN_FACTS}


def test_a_new_row_is_unread_if_the_page_does_not_show_its_level() -> None:
    row = "\n\nnovelty\n\n可选\n\n新的。\n\nint类型,取值范围[0, 5]。\n\n"
    page = CELLS.replace("\n\ntemperature\n\n", f"{row}temperature\n\n")
    inside = read(page)
    assert inside.facts == CELLS_FACTS
    (passage,) = inside.unread
    assert passage.reason == "the page does not show the level of this row"
    assert passage.line == page.split("\n").index("novelty") + 1
    assert passage.text == "novelty or messages.novelty or messages.tool_calls.novelty"
    outside = read(CELLS.replace("\n\n使用样例", f"{row}使用样例"))
    assert "novelty" in {fact.path for fact in outside.facts}
    assert outside.unread == ()


def test_rows_inside_an_unplaced_row_are_unread() -> None:
    row = "\n\nnovelty\n\n可选\n\n新的。\n\ndict类型。\n\n-\n\nrole\n\n可选\n\n新的。\n\nint类型。\n\n"
    actual = read(CELLS.replace("\n\ntemperature\n\n", f"{row}temperature\n\n"))
    assert actual.facts == CELLS_FACTS
    assert [(passage.text.split(" or ")[0], passage.reason) for passage in actual.unread] == [
        ("novelty", "the page does not show the level of this row"),
        ("role", "the row above it could not be placed"),
    ]


def test_a_repeated_name_belongs_to_the_next_level_that_has_it() -> None:
    rows = "\n\n-\n\nname\n\n必选\n\n名。\n\n字符串。\n\nname\n\n可选\n\n名。\n\n字符串。\n\n"
    page = CELLS.replace("\n\n  • name,必选,字符串,名字。\n\n", rows)
    actual = read(page)
    assert {"messages[].tool_calls[].function.name", "messages[].name"} <= {fact.path for fact in actual.facts}
    assert [passage.text.split(" or ")[0] for passage in actual.unread] == ["id"]  # tool_calls is closed by then


def test_a_repeated_row_is_unread() -> None:
    row = "\n\ntemperature\n\n可选\n\n又一次。\n\nint类型。\n\n"
    actual = read(CELLS.replace("\n\n使用样例", f"{row}使用样例"))
    assert actual.facts == CELLS_FACTS
    assert [passage.reason for passage in actual.unread] == ["there is already a row with this name"]


def test_a_row_with_an_unknown_second_cell_is_still_a_row() -> None:
    row = "\n\nnovelty\n\n有时\n\n新的。\n\nint类型,取值范围[0, 5]。\n\n"
    actual = {fact.path: fact for fact in read(CELLS.replace("\n\n使用样例", f"{row}使用样例")).facts}
    assert CELLS_FACTS[7] == actual["temperature"]
    assert actual["novelty"].unread == ("有时",)


def test_contradictions_between_tables_are_unread() -> None:
    second = MARKDOWN[MARKDOWN.index("| Parameter Name") : MARKDOWN.index("| code")].replace("| bool |", "| int |")
    actual = {fact.path: fact for fact in read(MARKDOWN.replace("| code", f"{second}\n| code")).facts}
    assert actual["lit"].types == ()
    assert actual["lit"].unread == ("types: the page states both ('boolean',) and ('integer',)",)
    assert actual["lamp.name"].types == ("string",)


def test_contradictions_between_cells_are_unread() -> None:
    page = MARKDOWN.replace("<td>How dim it is.</td>", "<td>Number between 0.0 and 3.0.</td>")
    dim = next(fact for fact in read(page).facts if fact.path == "dim")
    assert dim.range == ()
    assert "value range (0.0, 2.0] / Number between 0.0 and 3.0" in dim.unread
    agreeing = MARKDOWN.replace("<td>How dim it is.</td>", "<td>Number between 0.0 and 2.0.</td>")
    assert read(agreeing).facts == MARKDOWN_FACTS


def test_an_incomplete_row_of_bars_is_unread_and_ends_the_table() -> None:
    incomplete = PIPED.replace("Names the model. |\n", "Names | the model. |\n")
    actual = read_page(
        (incomplete + "\n\n" + MARKDOWN).encode(), "own"
    )  # read as Markdown, because no row of bars is complete
    assert actual.form == "HTML or Markdown tables"
    later = PIPED.replace("Some words. |", "Some | words. |")
    (passage,) = read_page(later.encode(), "own").unread
    assert passage.reason == "the row has 7 bars, but the table has 6"
