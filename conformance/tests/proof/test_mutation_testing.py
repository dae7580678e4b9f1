"""A fault run repeats a fault before its result counts as changed, with few scenarios and a sample of the others."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from conformance.errors import HarnessError
from conformance.proof import fault_run
from conformance.proof.fault_host import HostedFault, RunningFaultHost
from conformance.proof.fault_trial import FaultTrial, verify
from conformance.proof.kill import Kill, strongest_by_check
from conformance.proof.mutation_testing import run_faults
from conformance.proof.scenario_selection import (
    ALL,
    FAULTS_OF_A_CHECK,
    Detection,
    choose_verified,
    find_all,
    find_detections,
    find_sufficient,
    select_all,
    select_known,
)
from conformance.scenario import Scenario
from conformance.tests.proof.test_kill_matrix import fault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.proof.fault_run import Baseline
    from conformance.proof.scenario_selection import Selection


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


def test_the_detections_of_a_fault_begin_with_the_strongest_check_and_the_fewest_requests() -> None:
    kills = [
        Kill("topic.a", "topic.a", "S", "", ("plain",)),
        Kill("topic.b", "topic.b", "M", "", ("long", "plain", "sampled")),
        Kill("topic.b", "topic.b.lax", "o", "", ("short",)),
    ]
    detections = find_detections(kills, {"topic.a": "S", "topic.b": "M"}, ("long", "plain"), {"long": 9, "plain": 2})
    assert [("topic.b", "plain"), ("topic.b", "long"), ("topic.a", "plain")] == [
        (item.check, item.scenario) for item in detections
    ]


@pytest.mark.parametrize("seed", range(20))
def test_every_fault_and_every_check_is_verified_by_a_scenario_that_shows_it(seed: int) -> None:
    """Each fault by its strongest check, each check by as many faults as are asked for or as it detects."""
    chance = Random(seed)

    def detect() -> Detection:
        number = chance.randrange(9)
        return Detection(f"topic.{chance.choice('abcdefgh')}", "M", f"scenario-{number}", number)

    drawn = {f"fault-{number}": {detect() for _ in range(chance.randint(1, 6))} for number in range(12)}
    detections = {name: sorted(items, key=lambda item: item.requests) for name, items in drawn.items()}
    chosen = choose_verified(detections)
    shown = {(name, item.check, item.scenario) for name, items in detections.items() for item in items}
    assert {(name, *pair) for name, checks in chosen.items() for pair in checks.items()} <= shown
    assert [] == [name for name, items in detections.items() if items[0].check not in chosen[name]]
    able = Counter(check for _, check in {(name, item.check) for name, items in drawn.items() for item in items})
    verified = Counter(check for checks in chosen.values() for check in checks)
    assert {check: min(FAULTS_OF_A_CHECK, number) for check, number in able.items()} == {
        check: min(FAULTS_OF_A_CHECK, verified[check]) for check in able
    }


BOTH = {"plain", "tools"}


@pytest.mark.parametrize(
    ("verified_by", "sparing", "detections", "scenarios"),
    [
        ({"topic.a": "plain"}, True, ["M"], [{"plain"}]),
        ({"topic.a": "plain"}, True, ["S", "M"], [{"plain"}, BOTH]),
        ({"topic.a": "plain"}, True, [" ", "M"], [{"plain"}, BOTH]),
        ({}, True, ["S"], [BOTH]),
        ({}, True, [" "], [BOTH]),
        ({"topic.a": "plain"}, False, [" ", "S", "M"], [BOTH] * 3),
        ({"topic.a": "plain"}, False, [" ", " ", "S"], [BOTH] * 3),
    ],
)
def test_a_sparing_run_sends_what_verifies_a_row_and_what_showed_it_only_if_that_is_not_enough(
    monkeypatch: pytest.MonkeyPatch,
    verified_by: dict[str, str],
    detections: Sequence[str],
    scenarios: Sequence[set[str]],
    *,
    sparing: bool,
) -> None:
    """Without checks that verify the row, one of those that detected the fault is enough: here the check b.

    So it is when rows are written again, after three tries.
    """
    remaining, sent = iter(detections), []

    async def run_fault(_host: object, _baseline: object, _fault: object, select: Selection) -> frozenset[Kill]:
        sent.append(set(select([Scenario("plain", "", ()), Scenario("tools", "", ())])))
        strength = next(remaining)
        found = [Kill("topic.a", "topic.a", strength, "", ("plain",))] if strength != " " else []
        return frozenset([*found, Kill("topic.b", "topic.b", "M", "", ("tools",))])

    monkeypatch.setattr(fault_run, "run_fault", run_fault)
    row = replace(fault("crowd", a="M", b="M"), shown_by=("plain", "tools"), verified_by=verified_by, others=0)
    hosted = HostedFault("crowd", "", (), (), (), None, "anywhere", False, None, False, ("mindie-2.3",))
    trial = FaultTrial(hosted, "mindie-2.3", is_first=True)
    host, baseline = cast("RunningFaultHost", None), cast("Baseline", None)
    result = asyncio.run(verify(host, baseline, trial, row, sparing=sparing))
    assert (scenarios, False) == (sent, result.is_stale)
    assert "M" == result.killers["topic.b"]


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

    async def measure_baseline(_host: RunningFaultHost, _dialect: str, *_depths: str) -> object:
        return SimpleNamespace(kills=(), errors=(), plan=SimpleNamespace(scenarios=()))

    async def run_fault(*_: object) -> frozenset[Kill]:
        done.append(next(remaining))
        strengths = zip("ab", done[-1], strict=False)
        return frozenset(
            Kill(f"topic.{check}", check, strength, "", ("plain",)) for check, strength in strengths if strength != " "
        )

    monkeypatch.setattr(fault_run, "measure_baseline", measure_baseline)
    monkeypatch.setattr(fault_run, "run_fault", run_fault)
    known = {"crowd": replace(fault("crowd", a="M"), flaky=flaky)}
    hosted = HostedFault(
        "crowd", "", (), (), (), None, "anywhere", False, None, flaky, ("mindie-2.3",), shows_in={"required": ["tools"]}
    )
    host = RunningFaultHost("", "", (hosted,))
    result = asyncio.run(
        run_faults(host, (hosted,), ("mindie-2.3",), progress.append, complete=False, known_rows=known)
    )
    assert [killers] == [row.killers for row in result.matrix.rows]
    assert tries == len(done)
    assert progress[-1].startswith("1 of 1 tested")


def test_a_run_ends_if_the_fault_host_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async def measure_baseline(_host: RunningFaultHost, _dialect: str, *_depths: str) -> object:
        return SimpleNamespace(kills=(), errors=(), plan=SimpleNamespace(scenarios=()))

    async def run_fault(*_: object) -> frozenset[Kill]:
        return frozenset([Kill("topic.a", "topic.a", "M", "", ("plain",))])  # nothing answers

    monkeypatch.setattr(fault_run, "measure_baseline", measure_baseline)
    monkeypatch.setattr(fault_run, "run_fault", run_fault)
    hosted = HostedFault("crowd", "", (), (), (), None, "anywhere", False, None, False, ("mindie-2.3",))
    host = RunningFaultHost("", "", (hosted,), is_running=lambda: False)
    known = {"crowd": fault("crowd", a="M")}
    with pytest.raises(HarnessError, match="the fault host ended while it served crowd and others"):
        asyncio.run(run_faults(host, (hosted,), ("mindie-2.3",), lambda _: None, complete=False, known_rows=known))
