"""The kinds of reports, and their further names, which every command accepts that writes the kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.shell_completion import ShellComplete

from conformance.cli.check_command import check
from conformance.cli.comparison.matrix_command import matrix
from conformance.errors import UsageError
from conformance.report.comparison.matrix_writers import MATRIX_WRITERS
from conformance.report.report_kinds import OTHER_NAMES, REPORT_KINDS, describe_kinds
from conformance.report.writers import WRITERS
from conformance.report.writers.report_files import parse_options

if TYPE_CHECKING:
    from pathlib import Path

    import click


@pytest.mark.parametrize(("name", "kind"), OTHER_NAMES.items())
def test_a_further_name_of_a_kind_is_that_kind(name: str, kind: str, tmp_path: Path) -> None:
    file = tmp_path / "report"
    assert [(kind, file)] == parse_options([f"{name}={file}"]) == parse_options([f"{kind}={file}"])
    assert kind in REPORT_KINDS
    assert name not in WRITERS


def test_a_further_name_of_a_kind_that_a_command_does_not_write_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected KIND=PATH, where KIND is one of json, html$"):
        parse_options([f"md={tmp_path / 'report'}"], kinds=("json", "html"))


def test_the_error_about_an_unknown_kind_lists_every_name() -> None:
    with pytest.raises(UsageError, match=r"markdown \(or md\)"):
        parse_options(["mdown=report"])


@pytest.mark.parametrize(("command", "kinds"), [(check, REPORT_KINDS), (matrix, tuple(MATRIX_WRITERS))])
def test_the_help_of_a_command_lists_every_name(command: click.Command, kinds: tuple[str, ...]) -> None:
    (option,) = (item for item in command.params if item.name == "reports")
    assert f"Report to write: {describe_kinds(kinds)} (repeatable)" == option.to_info_dict()["help"]


def test_every_name_is_completed() -> None:
    completed = ShellComplete(check, {}, "chatproof", "_C").get_completions(["--report"], "m")
    assert ["markdown=", "md="] == [item.value for item in completed]
