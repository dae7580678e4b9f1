"""Arguments of the commands: what cannot work is refused in one line, before anything is started."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from loadtests.cli.load_command import Duration
from loadtests.cli.load_command import load as load_command
from loadtests.cli.locust_arguments import sorted_out
from loadtests.cli.search_command import search
from loadtests.tests.runs import load

if TYPE_CHECKING:
    from pathlib import Path

    from click import Command

    from openapi.contract.contract import Contract

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the calibration server needs a timerfd")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rate", "0"], "--rate"),
        (["--objective", "fast"], "--objective"),
        (["--scenario", "nowhere.yaml"], "--scenario"),
        (["--dialect", "nobody"], "nobody"),
        (["--time", "soon"], "soon"),
    ],
)
def test_a_wrong_option_ends_with_2_and_one_line(url: str, tmp_path: Path, arguments: list[str], words: str) -> None:
    code, said, _ = load(url, tmp_path, *arguments)
    assert 2 == code
    assert words in said
    assert "Traceback" not in said


@pytest.mark.parametrize("command", [load_command, search])
@pytest.mark.parametrize(
    "wrong",
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
def test_a_wrong_option_is_refused_before_the_embedded_server_starts(command: Command, wrong: list[str]) -> None:
    def embedded(_: Contract) -> Any:
        raise AssertionError("started")

    made = CliRunner().invoke(command, ["--objective", "ttft=1s", *wrong], obj=embedded)
    assert 2 == made.exit_code
    assert wrong[0] in made.output
    assert 1 == made.output.count("Error:")


@pytest.mark.parametrize(
    ("url", "more", "found"),
    [
        (None, (), (None, ())),
        ("http://a", ("--processes", "2"), ("http://a", ("--processes", "2"))),
        ("--processes", ("2", "http://a"), ("http://a", ("--processes", "2"))),
        ("--host=http://a", (), ("http://a", ("--host=http://a",))),
    ],
)
def test_the_url_may_stand_after_options_of_locust(
    url: str | None, more: tuple[str, ...], found: tuple[str | None, tuple[str, ...]]
) -> None:
    assert found == sorted_out(url, more)


@pytest.mark.parametrize("wrong", [["--arrivals", "gamma"], ["--think", "1", "--rate", "1"]])
def test_an_option_that_another_one_makes_void_is_refused(wrong: list[str]) -> None:
    made = CliRunner().invoke(load_command, wrong, obj=lambda _: None)
    assert (2, True) == (made.exit_code, wrong[0] in made.output)


@pytest.mark.parametrize(
    "wrong", [["--rate", "1"], ["--trace", "x"], ["--shape", "ramp"], ["--from", "9", "--to", "2"]]
)
def test_a_search_takes_nothing_that_decides_its_rates(wrong: list[str]) -> None:
    made = CliRunner().invoke(search, ["--objective", "ttft=1s", *wrong], obj=lambda _: None)
    assert (2, True) == (made.exit_code, wrong[0] in made.output)


def test_a_folder_that_cannot_hold_the_reports_is_refused_before_locust_starts(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    (tmp_path / "file").touch()
    for out, words in ((tmp_path, "report.html there cannot be replaced"), (tmp_path / "file", "no folder")):
        made = CliRunner().invoke(load_command, ["http://127.0.0.1:9", "--out", str(out)])
        assert (2, 1) == (made.exit_code, made.output.count(words))


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("1m30s", 90), ("500ms", 0.5), ("1.5h", 5400)])
def test_a_time_is_read_with_its_units(text: str, seconds: float) -> None:
    assert seconds == Duration().convert(text, None, None)
