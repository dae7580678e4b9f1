"""The terminal report: its width, commands that can be copied, and the progress bar."""

from __future__ import annotations

import html
import io
import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from conformance.check import Finding
from conformance.record import Record
from conformance.report.writers import junit, markdown, terminal
from conformance.report.writers.cause_groups import MOST_CAUSES, list_problems
from conformance.report.writers.evidence import Reproduction, repeat_command
from conformance.report.writers.pages import check_page as page
from conformance.report.writers.progress_bar import LiveFailure, ProgressBar, format_left
from conformance.tests.report.judgements import results_with_failures

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.tests.conftest import Good

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def printed(content: dict[str, Any], width: int, file: str = "results.json", *, is_terminal: bool = True) -> list[str]:
    """The lines of the report in a terminal of a width."""
    output = io.StringIO()
    terminal.write(content, Console(file=output, width=width, force_terminal=is_terminal, highlight=False), file)
    return ANSI.sub("", output.getvalue()).splitlines()


@pytest.fixture
def failing(read_good: Callable[[str], Good]) -> dict[str, Any]:
    """Results with failures."""
    return results_with_failures(read_good("mindie-2.3"), is_whole=True)


def commands(lines: list[str]) -> list[str]:
    return [line.split("try       ")[1] for line in lines if line.startswith("      try       ")]


@pytest.mark.takes_turns
@pytest.mark.parametrize("width", [80, 120])
def test_only_commands_are_longer_than_a_line_of_the_terminal(failing: dict[str, Any], width: int) -> None:
    lines = printed(failing, width)
    long = [line for line in lines if len(line) > width]
    assert set() == set(long) - {f"      try       {command}" for command in commands(lines)}


def test_commands_are_the_same_at_every_width_and_each_is_one_line(failing: dict[str, Any], tmp_path: Path) -> None:
    assert commands(printed(failing, 80)) == commands(printed(failing, 200)) == commands(printed(failing, 40))
    catch = "curl() { echo called >> calls; }; chatproof() { echo called >> calls; }; "
    for command in commands(printed(failing, 80)):
        subprocess.run(["sh", "-c", catch + command], cwd=tmp_path, check=True)
    assert len(commands(printed(failing, 80))) == len((tmp_path / "calls").read_text().splitlines())


def test_every_cause_has_its_claim_values_and_one_command(failing: dict[str, Any]) -> None:
    lines = printed(failing, 200)
    for number, line in enumerate(lines):
        if not re.match(r"(FAIL|WARN)  (MUST|SHOULD) ", line):
            continue
        block = lines[number : lines.index("", number)]
        labels = [part.split()[0] for part in block[2:] if re.match(r" {6}\w", part)]
        assert ["expected", "got", "at", "source", "try"] == labels[:5], block


def test_causes_after_the_first_ones_are_one_line_each_with_commands_that_show_them(failing: dict[str, Any]) -> None:
    content = json.loads(json.dumps({**failing, "causes": []}, default=list))
    rows = [row for row in content["requirements"] if row["outcome"] == "PASS"][:40]
    exchange = content["exchanges"][0]["id"]
    for row in rows:
        row.update(outcome="FAIL", fails=True, findings=[finding(exchange)])
    problems = list_problems(content)
    lines = printed(content, 80, "my results.json")
    start = lines.index(f"{len(problems) - MOST_CAUSES} further causes:")
    assert MOST_CAUSES == len(commands(lines[:start])) == len(commands(lines))
    names = [line.split()[2].removesuffix(":") for line in lines[start + 1 :] if re.match(r"  (FAIL|WARN) ", line)]
    assert [group.row["id"] for group in problems[MOST_CAUSES:]] == names
    assert "      chatproof judge 'my results.json' --report html=page.html" in lines
    assert f"      chatproof replay 'my results.json' --id {names[0]}" in lines


def test_a_long_word_begins_on_the_line_of_its_label(failing: dict[str, Any]) -> None:
    content = json.loads(json.dumps(failing, default=list))
    row = list_problems(content)[0].row
    row["findings"][:] = [{**row["findings"][0], "got": f"200: {{{'x' * 150}}}"}]
    lines = printed(content, 80)
    start = next(number for number, line in enumerate(lines) if line.startswith("      got       200: {xxx"))
    shown = "".join(line[16:] for line in lines[start : start + 3])
    assert (f"200: {{{'x' * 150}}}", 80) == (shown, len(lines[start]))


def test_the_explanation_is_of_the_first_cause(failing: dict[str, Any]) -> None:
    (line,) = [line for line in printed(failing, 200) if "chatproof explain" in line]
    assert f"`chatproof explain {list_problems(failing)[0].row['id']}`" in line


@pytest.mark.parametrize("known", [True, False])
def test_a_finding_that_compares_exchanges_has_a_command_for_each_of_them(failing: dict[str, Any], known: bool) -> None:
    """Also for a check of a dialect outside this package, whose file is not read for a report."""
    content = json.loads(json.dumps(failing, default=list))
    row = next(row for row in content["requirements"] if row["check"] == "sampling.greedy-repeats")
    row.update({} if known else {"check": "own.repeats", "id": "own.repeats"}, outcome="FAIL", fails=True, causes=[])
    names = [exchange["id"] for exchange in content["exchanges"] if exchange["request"]["method"] == "POST"][:3]
    row["findings"] = [{"where": "/", "expected": "x", "got": "y", "scenario": "a", "exchange": names[-1]}]
    row["compared"] = [names]
    exchanges = {exchange["id"]: exchange for exchange in content["exchanges"]}
    reproduction = Reproduction(content)
    commands = [(name, repeat_command(exchanges[name])) for name in names]
    assert (f"chatproof replay results.json --id {row['id']}", commands) == (
        reproduction.command(row),
        reproduction.steps(row),
    )
    assert 3 == len({line for _, line in commands}) == sum("curl " in line for _, line in commands)
    for write in (markdown.write, junit.write, page.write):
        written = html.unescape(write(content))
        places = [written.index(line) for _, line in commands]
        assert sorted(places) == places
    shown = "\n".join(printed(content, 4000))
    assert [] == [line for pair in commands for line in pair if line not in shown]
    row["compared"] = [names * 3]
    assert [] == reproduction.steps(row)


def test_a_finding_that_compares_answers_is_reproduced_by_replay_with_the_file_of_the_results(
    failing: dict[str, Any],
) -> None:
    content = json.loads(json.dumps(failing, default=list))
    row = next(row for row in content["requirements"] if row["check"] == "sampling.greedy-repeats")
    exchange = content["exchanges"][0]["id"]
    row["findings"] = [{"where": "/", "expected": "x", "got": "y", "scenario": "a", "exchange": exchange}]
    command = Reproduction(content, "out/my results.json").command(row)
    assert "chatproof replay 'out/my results.json' --id sampling.greedy-repeats" == command
    row.update(outcome="FAIL", fails=True, causes=[])
    for write in (markdown.write, junit.write, page.write):
        assert "chatproof replay results.json --id sampling.greedy-repeats" in write(content)


def test_the_bar_has_the_same_width_throughout_a_run() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    bar = ProgressBar(console, 1200)
    lines = [bar.line(done) for done in (0, 1, 5, 99, 1199, 1200)]
    assert 1 == len({len(line) for line in lines})
    assert lines[0] == "   0/1200   0 failed   -:-- left"
    assert lines[-2].endswith("0:00 left")
    assert lines[-1].endswith(" finishing")


def test_the_expected_total_grows_with_a_run_that_sends_more() -> None:
    bar = ProgressBar(Console(file=io.StringIO()), 2)
    record = Record()
    for number in range(3):
        record.exchanges["a", str(number)] = object()  # type: ignore[assignment]
        bar.update(record)
    assert bar.line(3).startswith("3/3 ")


def test_a_failure_is_printed_on_one_line_without_control_characters() -> None:
    output = io.StringIO()
    bar = ProgressBar(Console(file=output, width=80, force_terminal=True), 9)
    bar.show_failure(LiveFailure("a.b", "MUST", "s/main", Finding("/", "x\n::error::x", "\x1b[2J" + "y" * 500)))
    text = ANSI.sub("", output.getvalue())
    assert (1, True) == (text.count("\n"), len(text) <= 81)
    assert text.startswith("FAIL MUST a.b s/main: expected x ::error::x, got \ufffd[2Jyyy")


@pytest.mark.parametrize(("seconds", "text"), [(None, "-:--"), (0.0, "0:00"), (61.9, "1:01"), (3600.0, "60:00")])
def test_the_time_that_is_left_is_in_minutes_and_seconds(seconds: float | None, text: str) -> None:
    assert text == format_left(seconds)


def test_the_finding_with_the_shortest_request_is_shown_first(read_good: Callable[[str], Good]) -> None:
    content = json.loads(read_good("mindie-2.3").results)
    row = next(row for row in content["requirements"] if row["id"] == "usage.total-is-sum")
    exchanges = sorted(content["exchanges"], key=lambda item: len(str(item["request"]["body"])))
    chosen = [item["id"] for item in (exchanges[-1], exchanges[len(exchanges) // 2], exchanges[-2])]
    row.update(outcome="FAIL", fails=True, findings=[finding(name) for name in chosen])
    reproduction = Reproduction(content)
    assert chosen[1] == (reproduction.first_finding(row) or {})["exchange"]
    assert [chosen[1], chosen[0], chosen[2]] == [item["exchange"] for item in reproduction.order(row)]
    assert repeat_command(exchanges[len(exchanges) // 2]) == reproduction.command(row)


def test_the_command_with_fewer_headers_is_the_shorter_one(read_good: Callable[[str], Good]) -> None:
    content = json.loads(read_good("mindie-2.3").all_results)
    plain = next(item for item in content["exchanges"] if item["scenario"] == "client-headers")
    request = {**plain["request"], "headers": [["Connection", "close"], ["User-Agent", "curl/8.5.0"]]}
    usual = {**plain["request"], "headers": [["Accept", "*/*"], ["User-Agent", "chatproof"], ["Content-Length", "105"]]}
    content["exchanges"] = [{**plain, "id": "a", "request": request}, {**plain, "id": "b", "request": usual}]
    row = next(row for row in content["requirements"] if row["id"] == "usage.total-is-sum")
    row.update(outcome="FAIL", fails=True, findings=[finding("a"), finding("b")])
    assert ["b", "a"] == [item["exchange"] for item in Reproduction(content).order(row)]


def finding(exchange: str) -> dict[str, str]:
    return {"where": "/usage", "expected": "1", "got": "2", "scenario": "s", "exchange": exchange}
