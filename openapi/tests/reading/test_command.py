"""The commands: what they print, and how they end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml
from click.testing import CliRunner, Result

from openapi.contract.contract import load
from openapi.reading.compare import recorded_differences as recorded
from openapi.reading.compare.drift import WORDING, Status, compare
from openapi.reading.compare.recorded_differences import Reason
from openapi.reading.reading_commands import drift, read
from openapi.tests.reading.rendering import Line, html_page
from openapi.tests.reading.test_drift import LINES, changed, facts

if TYPE_CHECKING:
    from pathlib import Path

    import click


def run(command: click.Command, *arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(html_page(LINES), encoding="utf-8")
    return path


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a person had recorded everything in which our own page differs."""
    kept = {
        (each.part, each.path, each.member, each.page, None if each.member == WORDING else each.contract): Reason(
            "seen", "So [it] is."
        )
        for each in compare(facts(LINES), load("siliconstorm"))
        if each.status is not Status.AGREES
    }
    monkeypatch.setattr(recorded, "recorded", lambda dialect: kept)


def test_read_prints_facts_as_a_delta_with_its_counts(page: Path) -> None:
    result = run(read, page, "--extends", "siliconstorm")
    assert result.exit_code == 0
    assert "cells: 39 read, 1 read in part, 0 left to a person" in result.stdout
    printed = yaml.safe_load(result.stdout)
    assert printed["extends"] == "siliconstorm"
    assert printed["replace"]["parameters/temperature/schema"] == {"type": "number", "minimum": 0.0, "maximum": 2.0}
    assert "left to a person:\n#   line" in result.stdout


def test_read_names_the_nearest_dialect_unless_told_otherwise(page: Path) -> None:
    assert yaml.safe_load(run(read, page).stdout)["extends"] in ("mindie-1.0", "siliconstorm")
    assert yaml.safe_load(run(read, page, "--extends", "mindie-vllm").stdout)["extends"] == "mindie-vllm-1.0"


@pytest.mark.usefixtures("seen")
def test_drift_ends_with_0_when_all_that_differs_is_recorded(page: Path) -> None:
    result = run(drift, page, "--dialect", "siliconstorm")
    assert result.exit_code == 0
    assert "NOT RECORDED" not in result.stdout
    assert "seen: So [it] is." in result.stdout
    last = result.stdout.rstrip().split("\n")[-1]
    assert last.startswith("siliconstorm: ")
    assert "0 differs, 0 only in the page, 0 only in the contract" in last
    assert "not the pinned siliconstorm-api" in last
    assert "39 cells read, 1 in part, 0 left to a person" in last


@pytest.mark.usefixtures("seen")
def test_drift_ends_with_1_and_names_parameter_old_and_new(page: Path) -> None:
    page.write_text(html_page(changed("[0.0, 2.0]", "[0.0, 2.5]")), encoding="utf-8")
    result = run(drift, page, "--dialect", "siliconstorm")
    assert result.exit_code == 1
    (row,) = [line for line in result.stdout.split("\n") if "NOT RECORDED" in line]
    for words in ("request temperature", "range", "[0, 2.5]", "[0, 2]", "differs"):
        assert words in row
    assert "1 differs" in result.stdout.rstrip().split("\n")[-1]


@pytest.mark.usefixtures("seen")
def test_drift_shows_new_words_that_are_left_to_a_person(page: Path) -> None:
    page.write_text(html_page(changed("3 days", "4 days")), encoding="utf-8")
    result = run(drift, page, "--dialect", "siliconstorm")
    assert result.exit_code == 1
    assert "It is best left alone for 4 days" in result.stdout


@pytest.mark.usefixtures("seen")
def test_drift_as_json_has_every_difference_with_its_reason(page: Path) -> None:
    page.write_text(html_page(changed("[0.0, 2.0]", "[0.0, 2.5]")), encoding="utf-8")
    result = run(drift, page, "--dialect", "siliconstorm", "--format", "json")
    assert result.exit_code == 1
    printed = json.loads(result.stdout)
    assert {"dialect": "siliconstorm", "pinned": False}.items() <= printed.items()
    assert printed["counts"]["differs"] == 1
    (new,) = [difference for difference in printed["differences"] if difference["reading"] is None]
    assert new == {
        "part": "request",
        "path": "temperature",
        "member": "range",
        "page": "[0, 2.5]",
        "contract": "[0, 2]",
        "status": "differs",
        "line": 33,
        "words": [],
        "reading": None,
        "reason": None,
    }
    assert {difference["reason"] for difference in printed["differences"]} == {None, "So [it] is."}


@pytest.mark.usefixtures("seen")
def test_drift_shows_what_agrees_when_asked(page: Path) -> None:
    usual = json.loads(run(drift, page, "--dialect", "siliconstorm", "--format", "json").stdout)
    every = json.loads(run(drift, page, "--dialect", "siliconstorm", "--format", "json", "--all").stdout)
    assert len(every["differences"]) - len(usual["differences"]) == usual["counts"]["agrees"] > 0


@pytest.mark.usefixtures("seen")
def test_drift_says_what_is_recorded_and_gone(page: Path) -> None:
    lines = [
        line if line.path != ("stream",) else Line(("stream",), "Optional", "bool type, default false.")
        for line in LINES
    ]
    page.write_text(html_page(lines), encoding="utf-8")
    result = run(drift, page, "--dialect", "siliconstorm")
    assert result.exit_code == 0
    assert f"recorded, and no longer there: request stream {WORDING}" in result.stdout


@pytest.mark.parametrize("command", [read, drift])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file or directory"),
        (b"", "the page is empty"),
        (b"\xff", "is not UTF-8"),
        (b"words and no table", "no table of parameters is recognised"),
    ],
)
def test_what_is_no_page_is_one_clear_line_and_exit_2(
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
    assert "give " in line or "save " in line


def test_a_folder_is_no_page(tmp_path: Path) -> None:
    result = run(read, tmp_path)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"chatproof: {tmp_path}: Is a directory")


def test_an_unknown_dialect_is_named_with_those_that_are_known(page: Path) -> None:
    for result in (run(drift, page, "--dialect", "nobody"), run(read, page, "--extends", "nobody")):
        assert result.exit_code == 2
        assert "unknown dialect 'nobody': expected one of " in result.stderr
        assert "mindie-vllm" in result.stderr
    assert run(drift, page).exit_code == 2
