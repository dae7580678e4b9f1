"""The commands `spec read` and `spec drift`: their output and exit codes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest
import yaml
from click.testing import CliRunner, Result

from openapi.contract.contract import load
from openapi.reading.compare import recorded_differences
from openapi.reading.compare.drift import UNREAD, DriftRow, DriftStatus, compare_page
from openapi.reading.compare.recorded_differences import Reason
from openapi.reading.reading_commands import drift, read
from openapi.tests.reading.rendering import Line, html_page
from openapi.tests.reading.test_drift import LINES, changed, facts

if TYPE_CHECKING:
    from pathlib import Path

    import click


def run(command: click.Command, *arguments: object) -> Result:
    words = [str(argument) for argument in arguments]
    return CliRunner(env={"COLUMNS": "200"}).invoke(command, words, catch_exceptions=False)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(html_page(LINES), encoding="utf-8")
    return path


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Record every difference of the test page."""
    reasons = {
        (row.part, row.path, row.member, row.page, None if row.member == UNREAD else row.contract): Reason(
            "checked", "So [it] is."
        )
        for row in compare_page(facts(LINES), load("siliconstorm"))
        if row.status is not DriftStatus.AGREES
    }
    monkeypatch.setattr(recorded_differences, "load_recorded", lambda dialect: reasons)


def test_read_prints_facts_as_a_delta_with_counts(page: Path) -> None:
    result = run(read, page, "--extends", "siliconstorm")
    assert result.exit_code == 0
    assert "cells: 39 read, 1 read in part, 0 not read" in result.stdout
    printed = yaml.safe_load(result.stdout)
    assert printed["extends"] == "siliconstorm"
    assert printed["replace"]["parameters/temperature/schema"] == {"type": "number", "minimum": 0.0, "maximum": 2.0}
    assert "not read: check by hand:\n#   line" in result.stdout


def test_read_extends_the_nearest_dialect_by_default(page: Path) -> None:
    assert yaml.safe_load(run(read, page).stdout)["extends"] in ("mindie-1.0", "siliconstorm")
    assert yaml.safe_load(run(read, page, "--extends", "mindie-vllm").stdout)["extends"] == "mindie-vllm-1.0"


@pytest.mark.usefixtures("recorded")
def test_drift_exits_with_0_if_all_differences_are_recorded(page: Path) -> None:
    result = run(drift, page, "--dialect", "siliconstorm")
    assert result.exit_code == 0
    assert "NOT RECORDED" not in result.stdout
    assert "checked: So [it] is." in result.stdout
    last = result.stdout.rstrip().split("\n")[-1]
    assert last.startswith("siliconstorm: ")
    assert "0 differs, 0 only in the page, 0 only in the contract" in last
    assert "not the pinned siliconstorm-api" in last
    assert "39 cells read, 1 in part, 0 not read" in last


@pytest.mark.usefixtures("recorded")
def test_drift_exits_with_1_and_shows_the_parameter_and_both_values(page: Path) -> None:
    page.write_text(html_page(changed("[0.0, 2.0]", "[0.0, 2.5]")), encoding="utf-8")
    result = run(drift, page, "--dialect", "siliconstorm")
    assert result.exit_code == 1
    (row,) = [line for line in result.stdout.split("\n") if "NOT RECORDED" in line]
    for words in ("request temperature", "range", "[0, 2.5]", "[0, 2]", "differs"):
        assert words in row
    assert "1 differs" in result.stdout.rstrip().split("\n")[-1]


@pytest.mark.usefixtures("recorded")
def test_drift_shows_new_unread_text(page: Path) -> None:
    page.write_text(html_page(changed("3 days", "4 days")), encoding="utf-8")
    result = run(drift, page, "--dialect", "siliconstorm")
    assert result.exit_code == 1
    assert "It is best left alone for 4 days" in result.stdout


@pytest.mark.usefixtures("recorded")
def test_drift_as_json_contains_every_difference_with_its_reason(page: Path) -> None:
    page.write_text(html_page(changed("[0.0, 2.0]", "[0.0, 2.5]")), encoding="utf-8")
    result = run(drift, page, "--dialect", "siliconstorm", "--format", "json")
    assert result.exit_code == 1
    printed = json.loads(result.stdout)
    assert {"dialect": "siliconstorm", "pinned": False}.items() <= printed.items()
    assert printed["counts"]["differs"] == 1
    (new,) = [difference for difference in printed["differences"] if difference["reading"] is None]
    row = DriftRow(
        part="request",
        path="temperature",
        member="range",
        page="[0, 2.5]",
        contract="[0, 2]",
        status=DriftStatus.DIFFERS,
        line=33,
    )
    assert new == {**asdict(row), "status": "differs", "words": [], "reading": None, "reason": None}
    assert {difference["reason"] for difference in printed["differences"]} == {None, "So [it] is."}


@pytest.mark.usefixtures("recorded")
def test_drift_shows_facts_that_agree_on_request(page: Path) -> None:
    usual = json.loads(run(drift, page, "--dialect", "siliconstorm", "--format", "json").stdout)
    complete = json.loads(run(drift, page, "--dialect", "siliconstorm", "--format", "json", "--all").stdout)
    assert len(complete["differences"]) - len(usual["differences"]) == usual["counts"]["agrees"] > 0


@pytest.mark.usefixtures("recorded")
def test_drift_lists_recorded_differences_that_no_longer_occur(page: Path) -> None:
    lines = [
        line if line.path != ("stream",) else Line(("stream",), "Optional", "bool type, default false.")
        for line in LINES
    ]
    page.write_text(html_page(lines), encoding="utf-8")
    result = run(drift, page, "--dialect", "siliconstorm")
    assert result.exit_code == 0
    assert f"recorded but no longer present: request stream {UNREAD}" in result.stdout


@pytest.mark.parametrize("command", [read, drift])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file or directory"),
        (b"", "the page is empty"),
        (b"\xff", "invalid encoding"),
        (b"words and no table", "no table of parameters"),
    ],
)
def test_an_invalid_page_is_reported_in_one_line_with_exit_code_2(
    tmp_path: Path, command: click.Command, content: bytes | None, message: str
) -> None:
    path = tmp_path / "page"
    if content is not None:
        path.write_bytes(content)
    result = run(command, path, *(("--dialect", "mindie") if command is drift else ()))
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.rstrip("\n").split("\n")
    assert line.startswith("chatproof: ")
    assert message in line
    assert "expected " in line


def test_a_folder_is_refused(tmp_path: Path) -> None:
    result = run(read, tmp_path)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"chatproof: cannot read {tmp_path}: Is a directory")


def test_an_unknown_dialect_is_refused_with_a_list_of_known_ones(page: Path) -> None:
    for result in (run(drift, page, "--dialect", "unknown"), run(read, page, "--extends", "unknown")):
        assert result.exit_code == 2
        assert "unknown dialect 'unknown': expected the path of a .yaml file, or one of " in result.stderr
        assert "mindie-vllm" in result.stderr
    assert run(drift, page).exit_code == 2
