"""Run the suite against every fault and variation, a few at a time, and build the kill matrix."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from zlib import crc32

from conformance.errors import HarnessError
from conformance.judge.check_registry import gather_checks
from conformance.proof import fault_run
from conformance.proof.kill import TIMING_CHECKS, strongest_by_check
from conformance.proof.kill_matrix import FaultRow, KillMatrix, confirms, make_row, merge_rows
from conformance.proof.kill_table import EXCUSED
from conformance.proof.scenario_selection import (
    ALL,
    CROWD,
    SAMPLE_SIZE,
    find_all,
    find_sufficient,
    select_known,
)
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from conformance.plan.depth import Depth
    from conformance.proof.fault_host import HostedFault, RunningFaultHost
    from conformance.proof.fault_run import Baseline
    from conformance.proof.kill import Kill

CONCURRENT_FAULTS = 4  # the engine batches their tokens
MAX_TRIES = 3  # before a different result counts, because some faults depend on how busy the machine is
SEVERAL_TIMES = 3
"""In how many scenarios each check detects a fault that does not show in one of them every time."""
VARIATION_SAMPLE_SIZES = (24, 8)
"""Scenarios of a variation in its first dialect and in the other one, unless all are tested."""


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


@dataclass(frozen=True, slots=True)
class FaultTrial:
    """A fault and the dialect in which it is tested. `is_first` is false for a variation's second dialect."""

    fault: HostedFault
    dialect: str
    is_first: bool


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The result of testing a fault in a dialect. `shown_by`, `others` and `flaky` are those of the row of the matrix.

    is_stale: whether the scenarios of an earlier run no longer show the fault as they did.
    """

    kills: frozenset[Kill]
    killers: Mapping[str, str]
    shown_by: tuple[str, ...]
    others: int = SAMPLE_SIZE
    flaky: bool = False
    is_stale: bool = False


async def run_faults(
    host: RunningFaultHost,
    faults: Sequence[HostedFault],
    dialects: Sequence[str],
    on_progress: Callable[[str], None],
    *,
    complete: bool,
    known_rows: Mapping[str, FaultRow],
    once: bool = False,
    depth: Depth = "thorough",
) -> MutationResult:
    """Test each fault in the first of these dialects that has it, and each variation also in one of the others.

    complete: judge the faultless server of every dialect, and count checks that detect nothing.
    known_rows: rows that are verified with the scenarios that showed the fault; a fault without such a row is tested
        with all scenarios, and those that are enough to repeat the result are found.
    once: test each fault once, and do not look for scenarios that repeat the result, which is then not stored.
    depth: how much of a plan is sent; the kill matrix is about thorough runs.
    on_progress: called with a line of text after each step.
    """
    trials = [trial for fault in faults for trial in plan_trials(fault, dialects)]
    false_positives: list[str] = []
    free = asyncio.Semaphore(CONCURRENT_FAULTS)

    async def measure(name: str) -> Baseline:
        async with free:
            on_progress(f"judging the faultless server in {name}")
            return await fault_run.measure_baseline(host, name, depth)

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
                    result = TrialResult(kills, _strongest(kills, trial.fault), ())
                elif known is None:
                    result = await _discover(host, baselines[trial.dialect], trial.fault)
                else:
                    result = await _verify(host, baselines[trial.dialect], trial, known)
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
    stale = tuple(trial.fault.name for trial, result in zip(trials, results, strict=True) if result.is_stale)
    matrix = make_matrix(tuple(rows.values()), complete=complete)
    return MutationResult(matrix, tuple(false_positives), tuple(baselines), stale)


async def _verify(host: RunningFaultHost, baseline: Baseline, trial: FaultTrial, known: FaultRow) -> TrialResult:
    """Test a fault with the scenarios that showed it before and a sample of others, until the result is the same.

    If it never is, the fault is tested with all scenarios: a scenario may have been renamed or divided.
    """
    fault = trial.fault
    sample_size = VARIATION_SAMPLE_SIZES[not trial.is_first] if fault.benign else known.others
    select = select_known(fault.name, known.shown_by, sample_size)
    kills: frozenset[Kill] = frozenset()
    for _ in range(MAX_TRIES):
        new = await fault_run.run_fault(host, baseline, fault, select)
        kills = kills | new if known.flaky else new
        killers = _strongest(kills, fault)
        if fault.benign or confirms(known, killers):  # a false positive is not retried
            return TrialResult(kills, killers, known.shown_by, known.others, known.flaky)
    return replace(await _discover(host, baseline, fault), is_stale=True)


async def _discover(host: RunningFaultHost, baseline: Baseline, fault: HostedFault) -> TrialResult:
    """Test a fault with all scenarios, then find few scenarios that repeat the result.

    If no part repeats it, the fault is flaky, and only the checks that detect it every time count.
    """
    kills = await fault_run.run_fault(host, baseline, fault)
    killers = _strongest(kills, fault)
    if fault.benign:
        return TrialResult(kills, killers, find_sufficient(kills, killers))
    sufficient, several = (find_sufficient(kills, killers, times) for times in (1, SEVERAL_TIMES))
    every = find_all(kills, killers)
    always = killers
    for shown_by, others in ((sufficient, SAMPLE_SIZE), (several, SAMPLE_SIZE), (every, SAMPLE_SIZE)):
        repeated = await _repeat(host, baseline, fault, shown_by, others)
        always = _intersect(always, repeated)
        if repeated == killers and not fault.flaky:
            return TrialResult(kills, killers, shown_by, flaky=fault.timeout_s is not None)
    if always:
        return TrialResult(kills, always, several, flaky=True)
    for shown_by, others in ((every, CROWD), ((ALL,), SAMPLE_SIZE)):
        always = _intersect(killers, await _repeat(host, baseline, fault, shown_by, others))
        if always:
            break
    return TrialResult(kills, always, shown_by, others, flaky=bool(killers))


async def _repeat(
    host: RunningFaultHost, baseline: Baseline, fault: HostedFault, shown_by: tuple[str, ...], others: int
) -> dict[str, str]:
    kills = await fault_run.run_fault(host, baseline, fault, select_known(fault.name, shown_by, others))
    return _strongest(kills, fault)


def _strongest(kills: Collection[Kill], fault: HostedFault) -> dict[str, str]:
    return strongest_by_check(kills, timed=fault.timeout_s is not None)


def _intersect(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """Return the checks that detect a fault with the same strength both times."""
    return {check: strength for check, strength in first.items() if second.get(check) == strength}


def make_matrix(rows: tuple[FaultRow, ...], *, complete: bool) -> KillMatrix:
    """Make a matrix of these rows. Unless it is complete, checks may detect nothing."""
    return KillMatrix(rows, tuple(sorted(gather_checks())) if complete else (), EXCUSED if complete else {})


def plan_trials(fault: HostedFault, dialects: Sequence[str]) -> list[FaultTrial]:
    """Return the dialects in which a fault is tested: the first that has it; for a variation also another one."""
    first, *others = [name for name in dialects if name in fault.dialects]
    trials = [FaultTrial(fault, first, is_first=True)]
    if fault.benign and others:
        trials.append(FaultTrial(fault, others[crc32(fault.name.encode()) % len(others)], is_first=False))
    return trials


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
