"""Measure which faults a run of each depth detects."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.plan.expected_cost import estimate_cost
from conformance.proof import fault_run
from conformance.proof.fault_trial import plan_trials
from conformance.proof.kill import strongest_by_check
from conformance.proof.mutation_testing import CONCURRENT_FAULTS
from conformance.proof.scenario_selection import select_all, select_known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.plan.depth import Depth
    from conformance.proof.fault_host import HostedFault, RunningFaultHost
    from conformance.proof.fault_run import Baseline
    from conformance.proof.kill_matrix import FaultRow


@dataclass(frozen=True, slots=True)
class DepthResult:
    """What runs of one depth detect.

    requests: how many a run usually sends, by dialect.
    strengths: M for each fault that violates a MUST, S for each that violates only a SHOULD; the others are not
        detected.
    """

    requests: Mapping[str, int]
    strengths: Mapping[str, str]

    def as_data(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {"requests": dict(sorted(self.requests.items())), "strengths": dict(sorted(self.strengths.items()))}


async def run_depth(
    host: RunningFaultHost,
    faults: Sequence[HostedFault],
    dialects: Sequence[str],
    depth: Depth,
    known_rows: Mapping[str, FaultRow],
    on_progress: Callable[[str], None],
) -> DepthResult:
    """Test each fault in the first of these dialects that has it, with the requests of this depth.

    known_rows: rows of the kill table. A fault is tested with the scenarios that showed it first, and with all others
        only if these are not enough. A quick run has so few requests that all of them are sent.
    """
    trials = [trial for fault in faults for trial in plan_trials(fault, dialects)]
    free, done = asyncio.Semaphore(CONCURRENT_FAULTS), 0
    baselines: dict[str, Baseline] = {}
    for name in dict.fromkeys(trial.dialect for trial in trials):
        on_progress(f"{depth}: judging the faultless server in {name}")
        baselines[name] = await fault_run.measure_baseline(host, name, depth)

    async def test(fault: HostedFault, baseline: Baseline) -> str:
        nonlocal done
        known = known_rows[fault.name].shown_by if depth != "quick" and fault.name in known_rows else ()
        async with free:
            strength = ""
            for select in (*([select_known(fault.name, known, 0)] if known else []), select_all):
                kills = await fault_run.run_fault(host, baseline, fault, select)
                strength = _strongest(strongest_by_check(kills, timed=fault.timeout_s is not None))
                if strength:
                    break
        done += 1
        on_progress(f"{depth}: {done} of {len(trials)} tested")
        return strength

    found = await asyncio.gather(*(test(trial.fault, baselines[trial.dialect]) for trial in trials))
    names = (trial.fault.name for trial in trials)
    return DepthResult(
        {name: estimate_cost(baseline.plan).requests for name, baseline in baselines.items()},
        {name: strength for name, strength in zip(names, found, strict=True) if strength},
    )


async def read_thorough(
    host: RunningFaultHost, faults: Sequence[HostedFault], known_rows: Mapping[str, FaultRow]
) -> DepthResult:
    """Return what thorough runs detected when the kill table was written; `faults run` verifies it."""
    rows = [known_rows[fault.name] for fault in faults if fault.name in known_rows]
    names = {name for row in rows for name in row.dialect.split(", ")}
    baselines = [await fault_run.prepare_baseline(host, name) for name in sorted(names)]
    strengths = {row.name: strength for row in rows if (strength := _strongest(row.killers))}
    requests = {baseline.contract.name: estimate_cost(baseline.plan).requests for baseline in baselines}
    return DepthResult(requests, strengths)


def _strongest(killers: Mapping[str, str]) -> str:
    """Return the strength of the strongest violated requirement; "" without any, or with a MAY only."""
    strengths = set(killers.values())
    return "M" if "M" in strengths else "S" if "S" in strengths else ""
