"""Invalid arguments of the commands are rejected in one line, before anything is started."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from loadtests.cli.load_command import load as load_command
from loadtests.cli.locust_arguments import split_arguments
from loadtests.cli.search_command import search
from loadtests.tests.load_runs import run_load_test
from openapi.command_options.duration import Duration, format_duration

if TYPE_CHECKING:
    from pathlib import Path

    from click import Command

    from openapi.contract.contract import Contract

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the calibration server needs a timerfd")


@pytest.mark.takes_turns
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--rate", "0"], "--rate"),
        (["--objective", "fast"], "--objective"),
        (["--scenario", "nowhere.yaml"], "--scenario"),
        (["--dialect", "unknown"], "unknown"),
        (["--time", "soon"], "soon"),
    ],
)
def test_an_invalid_option_ends_with_2_and_one_line(url: str, tmp_path: Path, arguments: list[str], text: str) -> None:
    code, output, _ = run_load_test(url, tmp_path, *arguments)
    assert 2 == code
    assert text in output
    assert "Traceback" not in output


@pytest.mark.parametrize("command", [load_command, search])
@pytest.mark.parametrize(
    "invalid",
    [
        ["--rate", "0"],
        ["--objective", "fast=1"],
        ["--scenario", "no.yaml"],
        ["--out", f"{__file__}/under"],
        ["--proceses", "2"],
        ["--master-port", "many"],
        ["elsewhere", "--host", "http://127.0.0.1:9"],
        [""],
        ["", "--wait", "9"],
        ["--rate", "inf"],
        ["--think", "nan"],
        ["--max-requests", "0"],
        ["--max-in-flight", "0"],
        ["--time", "0s"],
        ["--processes", "100000"],
        ["--burstiness", "2"],
        ["--insecure", "--ca-file", "x"],
        ["--give-up-share", "1"],
        ["--give-up-count", "0.5"],
        ["--give-up-after", "5"],
        ["--give-up-share", "0.1", "--max-failures", "0.5"],
    ],
)
def test_an_invalid_option_is_rejected_before_the_embedded_server_starts(command: Command, invalid: list[str]) -> None:
    def embedded(_: Contract) -> Any:
        raise AssertionError("started")

    result = CliRunner().invoke(command, ["--objective", "ttft=1s", *invalid], obj=embedded)
    assert 2 == result.exit_code
    assert invalid[0] in result.output
    assert 1 == result.output.count("Error:")


@pytest.mark.parametrize(
    ("url", "more", "expected"),
    [
        (None, (), (None, ())),
        ("http://a", ("--processes", "2"), ("http://a", ("--processes", "2"))),
        ("--processes", ("2", "http://a"), ("http://a", ("--processes", "2"))),
        ("--host=http://a", (), ("http://a", ("--host=http://a",))),
    ],
)
def test_the_url_may_follow_options_of_locust(
    url: str | None, more: tuple[str, ...], expected: tuple[str | None, tuple[str, ...]]
) -> None:
    assert expected == split_arguments(url, more)


@pytest.mark.parametrize("invalid", [["--arrivals", "gamma"], ["--think", "1", "--rate", "1"]])
def test_an_option_without_effect_is_rejected(invalid: list[str]) -> None:
    result = CliRunner().invoke(load_command, invalid, obj=lambda _: None)
    assert (2, True) == (result.exit_code, invalid[0] in result.output)


@pytest.mark.parametrize(
    "invalid", [["--rate", "1"], ["--trace", "x"], ["--shape", "ramp"], ["--from", "9", "--to", "2"]]
)
def test_a_search_rejects_options_that_determine_the_rate(invalid: list[str]) -> None:
    result = CliRunner().invoke(search, ["--objective", "ttft=1s", *invalid], obj=lambda _: None)
    assert (2, True) == (result.exit_code, invalid[0] in result.output)


def test_a_folder_to_which_reports_cannot_be_written_is_rejected_before_locust_starts(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    (tmp_path / "file").touch()
    for out, text in ((tmp_path, "report.html cannot be replaced"), (tmp_path / "file", "cannot create the folder")):
        result = CliRunner().invoke(load_command, ["http://127.0.0.1:9", "--dialect", "openai", "--out", str(out)])
        assert (2, 1) == (result.exit_code, result.output.count(text))


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("1m30s", 90), ("500ms", 0.5), ("1.5h", 5400)])
def test_a_duration_is_parsed_with_its_units(text: str, seconds: float) -> None:
    assert seconds == Duration().convert(text, None, None)
    assert seconds == Duration().convert(format_duration(seconds), None, None)


def test_a_time_limit_has_the_name_and_form_of_other_commands() -> None:
    for words in (["--timeout", "1m30s"], ["--deadline", "90"]):
        context = load_command.make_context("load", words, obj=None)
        assert (90.0, 0.0) == (context.params["deadline"], context.params["think"])
