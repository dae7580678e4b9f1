"""A column of yes and no is read as required by its header, and is left to a person under an unknown header."""

from __future__ import annotations

import pytest

from openapi.reading.pages.columns import FLAGGED, recognize_columns
from openapi.reading.pages.row import Cell, Item

TYPES = ("string", "integer", "boolean")


def cell(text: str, line: int) -> Cell:
    return Cell((Item(text, 0, line),), line)


def doubts_of(header: str) -> list[str]:
    rows = [(f"p{at}", kind, ("yes", "no")[at % 2], "Some words.") for at, kind in enumerate(TYPES)]
    body = [[cell(text, line) for text in row] for line, row in enumerate(rows, 1)]
    found = recognize_columns(("Name", "Type", header, "What it does"), body)
    assert found is not None
    return [header for header, doubt in found.doubts if doubt == FLAGGED]


@pytest.mark.parametrize("header", ["Wanted", "Flag", "Q1"])
def test_yes_and_no_under_an_unknown_header_are_told(header: str) -> None:
    assert [header] == doubts_of(header)


@pytest.mark.parametrize("header", ["Must be sent", "Needed", "Compulsory", "Required", "Optional"])
def test_a_header_that_asks_whether_a_parameter_is_required_leaves_no_doubt(header: str) -> None:
    assert [] == doubts_of(header)
