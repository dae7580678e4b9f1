"""Pages in all four forms are read to the same facts."""

from __future__ import annotations

import pytest

from openapi.reading.facts.fact import Fact, is_stated
from openapi.reading.facts.facts import read_facts
from openapi.reading.grammar.interval import Interval
from openapi.reading.grammar.statement import DescribedDefault
from openapi.reading.pages.columns import detect_part
from openapi.reading.pages.page import read_page
from openapi.tests.reading.flattened_pages import CELLS, CELLS_FACTS, PARAGRAPHS, PARAGRAPHS_FACTS, PIPED, PIPED_FACTS
from openapi.tests.reading.pages import MARKDOWN, MARKDOWN_FACTS, NESTED, read


@pytest.mark.parametrize(
    ("page", "form", "expected"),
    [
        (MARKDOWN, "HTML or Markdown tables", MARKDOWN_FACTS),
        (PIPED, "tables flattened to `cell |` lines", PIPED_FACTS),
        (CELLS, "one cell per line", CELLS_FACTS),
        (PARAGRAPHS, "headed paragraphs", PARAGRAPHS_FACTS),
    ],
    ids=["markdown", "piped", "cells", "paragraphs"],
)
def test_a_page_in_each_form_is_read_to_its_facts(page: str, form: str, expected: tuple[Fact, ...]) -> None:
    actual = read(page)
    assert form == actual.form
    assert expected == actual.facts
    assert actual.unread == ()


def test_a_fact_has_the_line_of_its_row() -> None:
    lines = MARKDOWN.split("\n")
    for fact in read(MARKDOWN).facts:
        name = fact.path.removesuffix("[]").rpartition(".")[2]
        if name not in ("watts", "name", "code"):
            assert name in lines[fact.line - 1], fact.path
    assert [fact.line for fact in read(PIPED).facts[:3]] == [9, 14, 21]


def test_cells_are_counted_as_read_partly_read_or_unread() -> None:
    count = read(PIPED).count
    # rows x (name, required, description, value): two values are read in part, one not at all
    assert (count.read, count.partly, count.unread) == (17, 2, 1)


def test_a_column_of_defaults_is_read_like_a_sentence_about_them() -> None:
    rows = [("colour", "string", "-"), ("watts", "integer", "40"), ("dimmed", "boolean", "as wired")]
    table = [f"| {name} | {kind} | no | {default} | Lamp. |" for name, kind, default in rows]
    page = ["| Parameter | Type | Required | Default | Description |", "|---|---|---|---|---|", *table, ""]
    actual = read("\n".join(page))
    stated = {fact.path: fact.default for fact in actual.facts if is_stated("default", fact.default)}
    assert {"watts": 40, "dimmed": DescribedDefault("as wired")} == stated


def test_pure_html_is_read_without_its_comments() -> None:
    page = """<!doctype html><html><body><h2>Response</h2><table>
    <tr><th>Parameter</th><th>Type</th><th>Description</th></tr>
    <tr><td>a</td><td>int<!-- or string --></td><td>What <b>it</b> is,<br>roughly.</td></tr></table></body></html>"""
    assert (Fact("response", "a", types=("integer",)),) == read(page).facts


def test_the_part_of_a_table_follows_from_its_enclosing_headings() -> None:
    actual = read(NESTED)
    assert actual.facts == (
        Fact("request", "dim", types=("integer",), range=(Interval(-2, 9, None, None),), default=5, required="no"),
        Fact("request", "heat", supported=False),
        Fact("request", "smell", supported=False),
        Fact("response", "lit", types=("boolean",)),
    )
    assert [(passage.line, passage.text) for passage in actual.unread] == [
        (31, "Generic < Odds and ends < The API of a lamp")
    ]


def test_lists_of_unsupported_parameters_in_html_are_read() -> None:
    page = "<h2>Response</h2><h3>Unsupported params</h3><ul><li>a.b</li><li><b>c</b> (later)</li><li>+</li></ul>"
    actual = read(page)
    assert actual.facts == (Fact("response", "a.b", supported=False), Fact("response", "c", supported=False))
    assert [passage.text for passage in actual.unread] == ["+"]


def test_only_an_event_of_a_stream_is_called_data() -> None:
    assert detect_part(("name", "type", "prose"), [], "data") == "stream"
    assert detect_part(("name", "type", "prose"), ["Response"], "data") == "stream"
    assert detect_part(("name", "required", "prose"), ["Response"], "data") == "request"
    assert detect_part(("name", "type", "prose"), ["Odd", "Response"], "id") == "response"
    assert detect_part(("name", "type", "prose"), [], "id") is None


def test_other_tables_are_ignored() -> None:
    page = (
        MARKDOWN
        + "\n| Name | Price |\n|---|---|\n| dim | 5 |\n\n| What | Type | Text |\n|---|---|---|\n| a | int | b |\n"
    )
    assert read(page).facts == MARKDOWN_FACTS


def test_line_ends_and_byte_order_marks_do_not_matter() -> None:
    for page, facts in ((CELLS, CELLS_FACTS), (PIPED, PIPED_FACTS), (MARKDOWN, MARKDOWN_FACTS)):
        for end in ("\r\n", "\r"):
            content = b"\xef\xbb\xbf" + page.replace("\n", end).encode()
            assert facts == read_facts(read_page(content, "own")).facts
