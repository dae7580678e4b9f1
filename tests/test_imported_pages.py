"""A dialect that is imported from a page is one to which the reference server conforms, in every layout of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from conformance.cli.dialect_check_command import check_dialect
from openapi.importing.dialect_commands import new
from openapi.tests.importing.vendor_pages import FIELDS, LAYOUTS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_reference_server_conforms_to_the_dialect_of_a_page(name: str, tmp_path: Path) -> None:
    page, dialect = tmp_path / name, tmp_path / "vendor.yaml"
    page.write_text(LAYOUTS[name](FIELDS), encoding="utf-8")
    made = CliRunner().invoke(new, [str(page), "--extends", "openai", "--id", "vendor", "--out", str(dialect)])
    assert 0 == made.exit_code, made.output
    judged = CliRunner().invoke(check_dialect, [str(dialect), "--depth", "quick"])
    assert (0, "vendor: ok") == (judged.exit_code, judged.stdout.splitlines()[-1]), judged.output
