"""The committed page has every row of the table, as a run of the tests wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.robustness.page import COMMAND, render, render_row
from tests.robustness.rows import ROWS

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "robustness.md"


def test_the_rows_are_numbered_from_1_to_44() -> None:
    assert list(range(1, 45)) == [row.number for row in ROWS]


def test_every_row_is_on_the_page_and_survived() -> None:
    page = PAGE.read_text(encoding="utf-8")
    starts = [render_row(row, {"passed": True}).partition("| survived |")[0] + "| survived |" for row in ROWS]
    assert [] == [start for start in starts if start not in page]


def test_the_page_states_how_it_was_made_and_how_many_rows_survived() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert COMMAND in page
    assert f"Faults survived: {len(ROWS)} of {len(ROWS)}." in page


def test_a_row_that_was_not_run_or_failed_is_shown_as_such() -> None:
    page = render({1: {"passed": False, "seconds": 1.2, "gap_s": 0.14, "memory_bytes": 3 * 2**20}})
    assert "Faults survived: 0 of 44." in page
    assert "| failed | 1 | 0.1 | 3 |" in page
    assert page.count("| not run |") == 43
