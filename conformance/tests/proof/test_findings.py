"""The findings of servers with one fault are counted, and the cause is the first of them or not."""

from __future__ import annotations

import re
from typing import Any

import pytest
from click.testing import CliRunner

from chatproof import main
from conformance.proof.findings.finding_run import FaultFindings, ListedFinding, summarize
from conformance.report.writers.cause_groups import list_problems


def found(*checks: str, topic: str = "usage", parameter: str | None = None) -> FaultFindings:
    listed = tuple(ListedFinding(check, check, "FAIL", 0) for check in checks)
    return FaultFindings("a", "openai", topic, parameter, "nonconformant", listed)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (found("usage.total-adds-up", "stream.done-last"), True),
        (found("stream.done-last", "usage.total-adds-up"), False),
        (found("parameters.seed.null", topic="x", parameter="seed"), True),
        (found("parameters.stop.null", topic="x", parameter="seed"), False),
        (found(), False),
    ],
)
def test_the_cause_is_first_if_the_first_finding_is_about_the_topic_or_the_parameter(
    result: FaultFindings, expected: bool
) -> None:
    assert expected == result.is_cause_first


def test_undetected_faults_have_no_findings_to_count() -> None:
    results = [found("usage.a"), found("stream.a", "usage.a", "usage.b"), found()]
    expected = "3 faults, 2 detected; findings: median 2, mean 2.0, most 3; the cause is listed first for 1 (50%)"
    assert expected == summarize(results)
    assert "1 fault, none detected" == summarize([found()])


def row(name: str, outcome: str, *, fails: bool = False) -> dict[str, Any]:
    return {"id": name, "outcome": outcome, "fails": fails}


def test_what_fails_is_listed_first_and_then_the_cause_with_the_most_consequences() -> None:
    rows = [
        *(row("a", "WARN"), row("b", "PASS"), row("c", "FAIL", fails=True), row("d", "FAIL", fails=True)),
        *(row("e", "FAIL", fails=True), row("f", "UNTESTABLE", fails=True)),
    ]
    judged = {
        "requirements": rows,
        "causes": [{"requirement": "d", "consequences": ["e"]}],
        "run": {"exhausted": "the budget"},
    }
    assert ["d", "c", "a"] == [group.row["id"] for group in list_problems(judged)]
    judged["run"] = {"exhausted": None}
    assert ["d", "c", "f", "a"] == [group.row["id"] for group in list_problems(judged)]


def test_an_unknown_origin_is_one_line() -> None:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(main, ["faults", "findings", "--origin", "somebody-else"])
    assert 2 == result.exit_code
    assert result.stderr.startswith("chatproof: unknown --origin 'somebody-else': expected one of ")
    assert {"first", "second"} <= set(re.findall(r"\w+", result.stderr))
    assert 1 == result.stderr.count("\n")
