"""A page of any layout becomes the same dialect, and the reference server conforms to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from click.testing import CliRunner

from conformance.cli.dialect_check_command import check_dialect
from openapi.contract.contract import load
from openapi.importing.dialect_commands import new
from openapi.tests.importing.vendor_pages import FIELDS, LAYOUTS

if TYPE_CHECKING:
    from pathlib import Path

FIRST: Final = next(iter(LAYOUTS))


def import_page(layout: str, folder: Path) -> Path:
    """Write the page in a layout, and return the dialect file that is made from it."""
    page, dialect = folder / layout, folder / "vendor.yaml"
    page.write_text(LAYOUTS[layout](FIELDS), encoding="utf-8")
    made = CliRunner().invoke(new, [str(page), "--extends", "openai", "--id", "vendor", "--out", str(dialect)])
    assert 0 == made.exit_code, made.output
    return dialect


def test_the_reference_server_conforms_to_the_dialect_of_a_page(tmp_path: Path) -> None:
    dialect = import_page(FIRST, tmp_path)
    judged = CliRunner().invoke(check_dialect, [str(dialect), "--depth", "quick"])
    assert (0, "vendor: ok") == (judged.exit_code, judged.stdout.splitlines()[-1]), judged.output


@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if layout != FIRST])
def test_a_page_in_another_layout_becomes_the_same_dialect(layout: str, tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    expected, actual = load(str(import_page(FIRST, tmp_path / "first"))), load(str(import_page(layout, tmp_path)))
    assert expected.parameters == actual.parameters
    assert expected.schemas == actual.schemas
    assert expected.rules == actual.rules
    assert [row.says for row in expected.sentences] == [row.says for row in actual.sentences]
