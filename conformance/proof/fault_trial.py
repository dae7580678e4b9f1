"""Test one fault: find the checks that detect it and the few scenarios that show it, or verify what is known of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from zlib import crc32

from conformance.proof import fault_run
from conformance.proof.kill import strongest_by_check
from conformance.proof.kill_matrix import confirms, confirms_in_part
from conformance.proof.scenario_selection import ALL, CROWD, SAMPLE_SIZE, find_all, find_sufficient, select_known

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from conformance.proof.fault_host import HostedFault, RunningFaultHost
    from conformance.proof.fault_run import Baseline
    from conformance.proof.kill import Kill
    from conformance.proof.kill_matrix import FaultRow

MAX_TRIES = 3  # before a different result counts, because some faults depend on how busy the machine is
SEVERAL_TIMES = 3
"""In how many scenarios each check detects a fault that does not show in one of them every time."""
VARIATION_SAMPLE_SIZES = (24, 8)
"""Scenarios of a variation in its first dialect and in the other one, unless all are tested."""


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


def plan_trials(fault: HostedFault, dialects: Sequence[str]) -> list[FaultTrial]:
    """Return the dialects in which a fault is tested: the first that has it; for a variation also another one."""
    first, *others = [name for name in dialects if name in fault.dialects]
    trials = [FaultTrial(fault, first, is_first=True)]
    if fault.benign and others:
        trials.append(FaultTrial(fault, others[crc32(fault.name.encode()) % len(others)], is_first=False))
    return trials


async def verify(
    host: RunningFaultHost, baseline: Baseline, trial: FaultTrial, known: FaultRow, *, sparing: bool
) -> TrialResult:
    """Test a fault with the scenarios that showed it before and a sample of others, until the result is the same.

    If it never is, the fault is tested with all scenarios: a scenario may have been renamed or divided.

    sparing: one test is enough if the checks that the row is verified by still detect it, or without such checks one of
        the row's. Otherwise, as the row is written again, it is also enough if a part of its checks still detect it as
        strongly.
    """
    fault = trial.fault
    kills: frozenset[Kill]
    sample_size = VARIATION_SAMPLE_SIZES[not trial.is_first] if fault.benign else known.others
    if sparing:
        select = select_known(fault.name, known.verifying_scenarios, sample_size)
        kills = await fault_run.run_fault(host, baseline, fault, select)
        killers = strongest(kills, fault)
        if fault.benign or confirms_in_part(known, killers):
            return TrialResult(kills, killers, known.shown_by, known.others, known.flaky)
    select = select_known(fault.name, known.shown_by, sample_size)
    kills = frozenset()
    for _ in range(MAX_TRIES):
        new = await fault_run.run_fault(host, baseline, fault, select)
        kills = kills | new if known.flaky else new
        killers = strongest(kills, fault)
        if fault.benign or confirms(known, killers):  # a false positive is not retried
            return TrialResult(kills, killers, known.shown_by, known.others, known.flaky)
    if not sparing and confirms_in_part(replace(known, verified_by={}), killers):  # the row then lists what is left
        return TrialResult(kills, killers, known.shown_by, known.others, known.flaky)
    return replace(await discover(host, baseline, fault), is_stale=True)


async def discover(host: RunningFaultHost, baseline: Baseline, fault: HostedFault) -> TrialResult:
    """Test a fault with all scenarios, then find few scenarios that repeat the result.

    If no part repeats it, the fault is flaky, and only the checks that detect it every time count.
    """
    kills = await fault_run.run_fault(host, baseline, fault)
    killers = strongest(kills, fault)
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
    return strongest(kills, fault)


async def find_verified(
    host: RunningFaultHost, baseline: Baseline, fault: HostedFault, row: FaultRow, chosen: Mapping[str, str]
) -> Mapping[str, str]:
    """Return the checks chosen to verify a row if their scenarios repeat the result without the others; else nothing.

    chosen: each check with its scenario.
    """
    repeated = await _repeat(host, baseline, fault, tuple(set(chosen.values())), 0)
    return chosen if confirms_in_part(replace(row, verified_by=chosen), repeated) else {}


def strongest(kills: Collection[Kill], fault: HostedFault) -> dict[str, str]:
    """Return the checks that detect a fault, each with its strength."""
    return strongest_by_check(kills, timed=fault.timeout_s is not None)


def _intersect(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """Return the checks that detect a fault with the same strength both times."""
    return {check: strength for check, strength in first.items() if second.get(check) == strength}
