"""Run the suite against every fault and variation, a few at a time, and build the kill matrix."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from conformance.errors import HarnessError
from conformance.judge.check_registry import gather_checks
from conformance.proof import fault_run
from conformance.proof.fault_trial import TrialResult, discover, find_verified, plan_trials, strongest, verify
from conformance.proof.kill import TIMING_CHECKS
from conformance.proof.kill_matrix import FaultRow, KillMatrix, make_row, merge_rows
from conformance.proof.kill_table import EXCUSED
from conformance.proof.scenario_selection import choose_verified, find_detections
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from conformance.plan.depth import Depth
    from conformance.proof.fault_host import HostedFault, RunningFaultHost
    from conformance.proof.fault_run import Baseline
    from conformance.proof.fault_trial import FaultTrial
    from conformance.proof.kill import Kill

CONCURRENT_FAULTS = 4  # the engine batches their tokens


@dataclass(frozen=True, slots=True)
class MutationResult:
    """The kill matrix, the false positives as text, and the dialects whose faultless server was judged.

    stale: faults that the scenarios of their rows no longer show as before, so that all scenarios were sent.
    """

    matrix: KillMatrix
    false_positives: tuple[str, ...]
    dialects: tuple[str, ...]
    stale: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every fault is detected, every check detects one, and nothing is a false positive."""
        return self.matrix.holds and not self.false_positives


async def run_faults(
    host: RunningFaultHost,
    faults: Sequence[HostedFault],
    dialects: Sequence[str],
    on_progress: Callable[[str], None],
    *,
    complete: bool,
    known_rows: Mapping[str, FaultRow],
    once: bool = False,
    sparing: bool = False,
    depth: Depth = "thorough",
    faultless_depth: Depth | None = None,
) -> MutationResult:
    """Test each fault in the first of these dialects that has it, and each variation also in one of the others.

    complete: judge the faultless server of every dialect, and count checks that detect nothing.
    known_rows: rows that are verified with the scenarios that showed the fault; a fault without such a row is tested
        with all scenarios, and those that are enough to repeat the result are found.
    once: test each fault once, and do not look for scenarios that repeat the result, which is then not stored.
    sparing: judge known rows by the checks that verify them. Otherwise these checks are chosen.
    depth: how much of a plan is sent; the kill matrix is about thorough runs.
    faultless_depth: how much of it is sent to the faultless servers, if not as much.
    on_progress: called with a line of text after each step.
    """
    trials = [trial for fault in faults for trial in plan_trials(fault, dialects)]
    false_positives: list[str] = []
    free = asyncio.Semaphore(CONCURRENT_FAULTS)

    async def measure(name: str) -> Baseline:
        async with free:
            on_progress(f"judging the faultless server in {name}")
            return await fault_run.measure_baseline(host, name, depth, faultless_depth)

    wanted = [name for name in dialects if complete or any(trial.dialect == name for trial in trials)]
    baselines = dict(zip(wanted, await asyncio.gather(*map(measure, wanted)), strict=True))
    for name, baseline in baselines.items():
        false_positives += _find_false_positives(f"the faultless server in {name}", baseline.kills, timed=False)
        false_positives += baseline.errors
    done = 0

    async def run_trial(trial: FaultTrial) -> TrialResult:
        nonlocal done
        async with free:
            try:
                known = known_rows.get(trial.fault.name)
                if once:
                    kills = await fault_run.run_fault(host, baselines[trial.dialect], trial.fault, explain=True)
                    result = TrialResult(kills, strongest(kills, trial.fault), ())
                elif known is None:
                    result = await discover(host, baselines[trial.dialect], trial.fault)
                else:
                    result = await verify(host, baselines[trial.dialect], trial, known, sparing=sparing)
            except HarnessError as error:  # an internal error of a check, which is reported with the false positives
                false_positives.append(str(error))
                result = TrialResult(frozenset(), {}, ())
            if not host.is_running():  # every later fault would be detected
                raise HarnessError(f"the fault host ended while it served {trial.fault.name} and others")
        done += 1
        detected = f"detected by {format_quantity(len(result.killers), 'check')}" if result.killers else "not detected"
        on_progress(f"{done} of {len(trials)} tested; last: {trial.fault.name} in {trial.dialect}, {detected}")
        return result

    results = await asyncio.gather(*(run_trial(trial) for trial in trials))
    rows: dict[str, FaultRow] = {}
    for trial, result in zip(trials, results, strict=True):
        name = trial.fault.name
        if trial.fault.benign:
            server, timed = f"the variation {name} in {trial.dialect}", trial.fault.timeout_s is not None
            false_positives += _find_false_positives(server, result.kills, timed=timed)
        row = make_row(trial.fault, trial.dialect, result.killers)
        row = replace(row, shown_by=result.shown_by, others=result.others, flaky=result.flaky)
        if once:
            row = replace(row, findings=len({kill.requirement for kill in result.kills if kill.is_finding}))
        rows[name] = merge_rows(rows[name], row) if name in rows else row
    if not (once or sparing):
        tested = list(zip(trials, results, strict=True))
        rows |= await _choose_verified(host, tested, baselines, rows, free, on_progress)
    stale = tuple(trial.fault.name for trial, result in zip(trials, results, strict=True) if result.is_stale)
    matrix = make_matrix(tuple(rows.values()), complete=complete)
    return MutationResult(matrix, tuple(false_positives), tuple(baselines), stale)


async def _choose_verified(
    host: RunningFaultHost,
    results: Iterable[tuple[FaultTrial, TrialResult]],
    baselines: Mapping[str, Baseline],
    rows: Mapping[str, FaultRow],
    free: asyncio.Semaphore,
    on_progress: Callable[[str], None],
) -> dict[str, FaultRow]:
    """Return the rows of faults that are verified by a part of their checks and scenarios."""
    detections, places = {}, {}
    for trial, result in results:
        fault, baseline = trial.fault, baselines[trial.dialect]
        if not fault.benign and not result.flaky:
            requests = {scenario.id: len(scenario.steps) for scenario in baseline.plan.scenarios}
            detections[fault.name] = find_detections(result.kills, result.killers, result.shown_by, requests)
            places[fault.name] = (baseline, fault)

    async def complete(name: str, checks: Mapping[str, str]) -> FaultRow:
        async with free:
            on_progress(f"choosing the checks that verify {name}")
            verified = await find_verified(host, *places[name], rows[name], checks)
        return replace(rows[name], verified_by=verified)

    chosen = {
        name: checks
        for name, checks in choose_verified(detections).items()
        if set(checks.values()) != set(rows[name].shown_by)
    }
    completed = await asyncio.gather(*(complete(name, checks) for name, checks in chosen.items()))
    return dict(zip(chosen, completed, strict=True))


def make_matrix(rows: tuple[FaultRow, ...], *, complete: bool) -> KillMatrix:
    """Make a matrix of these rows. Unless it is complete, checks may detect nothing."""
    return KillMatrix(rows, tuple(sorted(gather_checks())) if complete else (), EXCUSED if complete else {})


def _find_false_positives(server: str, kills: Collection[Kill], *, timed: bool) -> list[str]:
    """Return the violations that a correct server was reported for; a MAY is only observed and does not count.

    timed: whether checks of timing count. The fault host repeats earlier answers at once, so that the first stream of
    several equal ones takes longer than the others. `chatproof check --strict` judges the timing of a correct server.
    """
    return [
        f"{server}: {kill.requirement}: {kill.description}"
        for kill in kills
        if kill.strength != "o" and (timed or kill.check not in TIMING_CHECKS)
    ]
