"""A fault run repeats a fault before its result counts as changed, with few scenarios and a sample of the others."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from conformance.errors import HarnessError
from conformance.proof import fault_run
from conformance.proof.fault_host import HostedFault, RunningFaultHost
from conformance.proof.kill import Kill, strongest_by_check
from conformance.proof.mutation_testing import run_faults
from conformance.proof.scenario_selection import ALL, find_all, find_sufficient, select_all, select_known
from conformance.scenario import Scenario
from conformance.tests.proof.test_kill_matrix import fault

if TYPE_CHECKING:
    from collections.abc import Sequence


def test_timing_checks_count_only_for_faults_that_affect_timing() -> None:
    slow, other = (Kill(check, check, "M", "") for check in ("stream.arrives-bit-by-bit", "stream.done-last"))
    assert {"stream.done-last": "M"} == strongest_by_check([slow, other], timed=False)
    assert {"stream.arrives-bit-by-bit": "M", "stream.done-last": "M"} == strongest_by_check([slow, other], timed=True)


def test_the_strongest_requirement_of_a_check_counts() -> None:
    kills = [Kill("topic.a", f"topic.a.{strength}", strength, "") for strength in "MSo"]
    assert {"topic.a": "M"} == strongest_by_check(kills, timed=False)


def test_few_scenarios_show_a_fault_to_every_check_that_detects_it() -> None:
    kills = [
        Kill("topic.a", "topic.a", "M", "", ("greedy", "plain")),
        Kill("topic.b", "topic.b.strict", "M", "", ("plain", "tools")),
        Kill("topic.b", "topic.b.lax", "S", "", ("greedy",)),
        Kill("topic.c", "topic.c", "o", "", ("cuts",)),
    ]
    killers = strongest_by_check(kills, timed=False)
    assert ("cuts", "plain") == find_sufficient(kills, killers)
    assert ("cuts", "greedy", "plain", "tools") == find_all(kills, killers)
    assert ("plain",) == find_sufficient(kills, {"topic.a": "M", "topic.b": "M"})


def test_a_known_fault_is_tested_with_its_scenarios_and_a_repeatable_sample_of_others() -> None:
    scenarios = [Scenario(f"scenario-{number}", "", ()) for number in range(40)]
    selected = select_known("seed-ignored", ("scenario-7", "no-longer-there"), 5)(scenarios)
    assert 6 == len(selected)
    assert "scenario-7" in selected
    assert selected == select_known("seed-ignored", ("scenario-7",), 5)(scenarios)
    assert selected != select_known("stop-ignored", ("scenario-7",), 5)(scenarios)
    assert select_all(scenarios) == select_known("seed-ignored", (ALL,), 5)(scenarios)


@pytest.mark.parametrize(
    ("detections", "killers", "tries", "flaky"),
    [
        (["MM"], {"topic.a": "M", "topic.b": "M"}, 1, False),
        (["S", "M"], {"topic.a": "M"}, 2, False),
        (["S", "S", "S", "M", "M"], {"topic.a": "M"}, 5, False),
        (["S", "S", "S", "S", "S"], {"topic.a": "S"}, 5, False),
        (["M"], {"topic.a": "M"}, 1, False),
        ([" S", "M"], {"topic.a": "M", "topic.b": "S"}, 2, True),
    ],
)
def test_a_fault_is_tested_up_to_three_times_before_its_result_counts_as_changed(
    monkeypatch: pytest.MonkeyPatch, detections: Sequence[str], killers: dict[str, str], tries: int, flaky: bool
) -> None:
    """`detections` is the strength with which the checks a and b detect the fault in each try; a space: not at all.

    The detections of a flaky fault add up. After three tries the fault is tested with all scenarios, and again with
    those that show it.
    """
    remaining = iter(detections)
    done: list[str] = []
    progress: list[str] = []

    async def measure_baseline(_host: RunningFaultHost, _dialect: str, _depth: str) -> object:
        return SimpleNamespace(kills=(), errors=())

    async def run_fault(*_: object) -> frozenset[Kill]:
        done.append(next(remaining))
        strengths = zip("ab", done[-1], strict=False)
        return frozenset(
            Kill(f"topic.{check}", check, strength, "", ("plain",)) for check, strength in strengths if strength != " "
        )

    monkeypatch.setattr(fault_run, "measure_baseline", measure_baseline)
    monkeypatch.setattr(fault_run, "run_fault", run_fault)
    known = {"crowd": replace(fault("crowd", a="M"), flaky=flaky)}
    hosted = HostedFault("crowd", "", (), (), (), None, "anywhere", False, None, flaky, ("mindie-2.3",))
    host = RunningFaultHost("", "", (hosted,))
    result = asyncio.run(
        run_faults(host, (hosted,), ("mindie-2.3",), progress.append, complete=False, known_rows=known)
    )
    assert [killers] == [row.killers for row in result.matrix.rows]
    assert tries == len(done)
    assert progress[-1].startswith("1 of 1 tested")


def test_a_run_ends_if_the_fault_host_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async def measure_baseline(_host: RunningFaultHost, _dialect: str, _depth: str) -> object:
        return SimpleNamespace(kills=(), errors=())

    async def run_fault(*_: object) -> frozenset[Kill]:
        return frozenset([Kill("topic.a", "topic.a", "M", "", ("plain",))])  # nothing answers

    monkeypatch.setattr(fault_run, "measure_baseline", measure_baseline)
    monkeypatch.setattr(fault_run, "run_fault", run_fault)
    hosted = HostedFault("crowd", "", (), (), (), None, "anywhere", False, None, False, ("mindie-2.3",))
    host = RunningFaultHost("", "", (hosted,), is_running=lambda: False)
    known = {"crowd": fault("crowd", a="M")}
    with pytest.raises(HarnessError, match="the fault host ended while it served crowd and others"):
        asyncio.run(run_faults(host, (hosted,), ("mindie-2.3",), lambda _: None, complete=False, known_rows=known))
