"""Numbers with their nouns: singular and plural, and that no text of the product writes them in another way."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = (
    *("conformance/cli", "conformance/report", "conformance/replay", "conformance/run", "conformance/plan"),
    *("loadtests/cli", "loadtests/report", "loadtests/measure", "openapi/importing", "openapi/reading", "chatproof"),
)
NOUNS = (
    *("requests", "answers", "streams", "users", "tokens", "events", "exchanges", "findings", "causes", "warnings"),
    *("requirements", "consequences", "runs", "deployments", "pages", "scenarios", "sentences", "parameters", "to-dos"),
    *("lines", "rows", "cells", "facts", "passages", "faults", "rounds", "values", "times"),
)
COUNTED = re.compile(rf" (?:(?:more|other|further|completion|checked) )?(?:{'|'.join(NOUNS)})\b(?!/)")
TEMPLATE = re.compile(rf"}}}}{COUNTED.pattern}")
CONSTANT = re.compile(r"[A-Z_ +\d]+")


@pytest.mark.parametrize(
    ("expected", "shown"),
    [
        ("0 requests", format_quantity(0, "request")),
        ("1 request", format_quantity(1, "request")),
        ("2 requests", format_quantity(2, "request")),
        ("1,234,567 requests", format_quantity(1234567, "request")),
        ("0.5 seconds", format_quantity(0.5, "second")),
        ("1 second", format_quantity(1.0, "second")),
        ("1 request fails", format_quantity(1, "request fails", "requests fail")),
        ("3 requests fail", format_quantity(3, "request fails", "requests fail")),
    ],
)
def test_a_noun_agrees_with_its_number(expected: str, shown: str) -> None:
    assert expected == shown


def plurals(text: str) -> Iterator[str]:
    """Yield each variable number of an f-string that is followed by a plural; names of constants may be."""
    for node in ast.walk(ast.parse(text)):
        for number, words in zip(node.values, node.values[1:], strict=False) if isinstance(node, ast.JoinedStr) else ():
            if not isinstance(number, ast.FormattedValue) or not isinstance(words, ast.Constant):
                continue
            source = ast.unparse(number.value)
            if isinstance(words.value, str) and COUNTED.match(words.value) and not CONSTANT.fullmatch(source):
                yield f"{{{source}}}{words.value}"


def test_a_plural_after_a_variable_number_is_detected() -> None:
    assert ["{len(sent)} requests failed"] == list(plurals('f"{len(sent)} requests failed"'))
    assert [] == list(plurals('f"{rate} requests/s, {MOST} requests, {number} failed"'))
    assert TEMPLATE.search("{{ runs | length }} runs")


def test_every_count_of_a_report_or_message_agrees_with_its_noun() -> None:
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]
    assert {} == {str(file): found for file in files if (found := list(plurals(file.read_text("utf-8"))))}
    pages = sorted((ROOT / "conformance" / "report" / "writers" / "pages" / "templates").glob("*.html"))
    assert {} == {page.name: found for page in pages if (found := TEMPLATE.findall(page.read_text("utf-8")))}


def test_an_integer_that_is_too_large_for_a_float_is_written_too() -> None:
    assert "1.00e+400 entries" == format_quantity(10**400, "entry", "entries")
    assert "-2.00e+5000 tokens" == format_quantity(-2 * 10**5000, "token")
    assert "999,999,999,999 tokens" == format_quantity(999_999_999_999, "token")
