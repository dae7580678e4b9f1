"""Blind faults are counted by group, and run only on request."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from chatproof import main
from conformance.errors import UsageError
from conformance.proof.detection import count_by_group, count_findings, to_data
from conformance.proof.fault_host import HostedFault
from conformance.proof.faults_command import of_origin
from conformance.proof.kill import Kill
from conformance.proof.kill_matrix import make_row


def hosted(name: str, group: str, origin: str = "first") -> HostedFault:
    return HostedFault(
        name, f"{name}.", (), (), (), None, "anywhere", False, None, False, ("mindie-2.3",), origin, group
    )


FAULTS = (hosted("a", "drift"), hosted("b", "drift"), hosted("c", "drift"), hosted("d", "long"), hosted("e", "", ""))
KILLERS = {"a": {"x.one": "S", "x.two": "M"}, "b": {"x.one": "S"}, "c": {"x.one": "o"}, "d": {}}
ROWS = [make_row(fault, "mindie-2.3", KILLERS[fault.name]) for fault in FAULTS if fault.origin]


def test_the_strongest_check_decides_and_a_may_does_not_count() -> None:
    counts = count_by_group(FAULTS, ROWS)
    assert {"fail": 1, "warning": 1, "nothing": 1} == counts["drift"]
    assert {"fail": 0, "warning": 0, "nothing": 1} == counts["long"]


def test_findings_are_counted_for_detected_faults_only() -> None:
    rows = [replace(row, findings=number) for row, number in zip(ROWS, (1, 6, 0, 2), strict=True)]
    assert (2, 3) == count_findings(rows)
    assert (0, 0) == count_findings([])


def test_a_consequence_and_what_is_only_observed_are_no_findings() -> None:
    kill = Kill("x.one", "x.one", "M", "a violation")
    assert [True, False, False] == [
        item.is_finding for item in (kill, replace(kill, causes=("x.two",)), replace(kill, strength="o"))
    ]


def test_results_are_json_with_the_outcome_of_each_fault() -> None:
    data = json.loads(json.dumps(to_data(FAULTS, ROWS, ["the variation v"])))
    assert {"a": "fail", "b": "warning", "c": "nothing", "d": "nothing"} == {
        name: row["outcome"] for name, row in data["faults"].items()
    }
    assert ["the variation v"] == data["false_positives"]


def test_faults_of_another_origin_run_only_on_request() -> None:
    assert ["e"] == [fault.name for fault in of_origin(FAULTS, "")]
    assert ["a", "b", "c", "d"] == [fault.name for fault in of_origin(FAULTS, "first")]
    with pytest.raises(UsageError, match="unknown --origin 'other': expected one of first"):
        of_origin(FAULTS, "other")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--origin", "first", "--check", "docs/kill-matrix.md"], "--origin excludes --check and --write"),
        (["--results", "results.json"], "--results requires --origin"),
    ],
)
def test_options_that_contradict_each_other_are_refused(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(main, ["faults", "run", *arguments], env={"COLUMNS": "200"})
    assert 2 == result.exit_code
    assert message in result.output
