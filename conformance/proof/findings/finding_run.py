"""Judge servers with one fault each as a user does, and read which findings the report lists, in its order."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from conformance.client.secret import Secret
from conformance.errors import HarnessError, UsageError
from conformance.proof.mutation_testing import CONCURRENT_FAULTS
from conformance.record import BudgetLimits
from conformance.report.writers.cause_groups import list_problems
from conformance.run.session.options import RunOptions
from conformance.run.session.preparation import prepare_server
from conformance.run.session.sending import send
from openapi.contract.contract import load
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.proof.fault_host import RunningFaultHost
    from conformance.proof.fault_trial import FaultTrial

DEADLINE_S = 60.0  # for one exchange


@dataclass(frozen=True, slots=True)
class ListedFinding:
    """A finding as the report lists it: its requirement, its check, and the number of its consequences."""

    requirement: str
    check: str
    outcome: str
    consequences: int


@dataclass(frozen=True, slots=True)
class FaultFindings:
    """What the report of a server with one fault lists.

    topic: the topic of the checks that the fault was written for; of a fault that was made from a parameter of the
        contract, its own parameter.
    parameter: the only parameter with which the fault shows, if there is one.
    error: why the server could not be judged; "" if it could.
    """

    fault: str
    dialect: str
    topic: str
    parameter: str | None
    verdict: str
    findings: tuple[ListedFinding, ...] = ()
    error: str = ""

    @property
    def is_cause_first(self) -> bool:
        """Whether the first finding is about the topic or the parameter of the fault."""
        if not self.findings:
            return False
        first = self.findings[0]
        return first.check.partition(".")[0] == self.topic or (
            self.parameter is not None and self.parameter in first.requirement
        )

    def as_data(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {**asdict(self), "is_cause_first": self.is_cause_first}


async def list_findings(
    host: RunningFaultHost, trials: Sequence[FaultTrial], on_progress: Callable[[str], None]
) -> list[FaultFindings]:
    """Judge the server of each trial by a complete standard run, a few at a time."""
    free, done = asyncio.Semaphore(CONCURRENT_FAULTS), 0

    async def judge(trial: FaultTrial) -> FaultFindings:
        nonlocal done
        async with free:
            result = await _judge(host, trial)
        done += 1
        on_progress(f"{done} of {len(trials)} judged")
        return result

    return list(await asyncio.gather(*map(judge, trials)))


async def _judge(host: RunningFaultHost, trial: FaultTrial) -> FaultFindings:
    fault, dialect = trial.fault, trial.dialect
    secret = Secret(host.key) if load(dialect).auth == "bearer" else None
    limits = BudgetLimits(deadline_s=fault.timeout_s or DEADLINE_S)
    options = RunOptions(url=host.address(dialect, fault.name), dialect=dialect, budget=limits)
    known = FaultFindings(fault.name, dialect, fault.group, fault.parameter, "inconclusive")
    try:
        outcome = await send(await prepare_server(options, secret), secret)
    except (UsageError, HarnessError) as error:  # the preflight may refuse a broken server
        return FaultFindings(**{**_fields(known), "error": str(error)})
    problems = list_problems(outcome.results)
    findings = tuple(
        ListedFinding(problem.row["id"], problem.row["check"], problem.row["outcome"], len(problem.consequences))
        for problem in problems
    )
    return FaultFindings(**{**_fields(known), "verdict": outcome.results["verdict"], "findings": findings})


def _fields(result: FaultFindings) -> dict[str, Any]:
    return {name: getattr(result, name) for name in result.__slots__}


def summarize(results: Sequence[FaultFindings]) -> str:
    """Return the number of findings of a detected fault, and how often the first one is the cause, in words."""
    detected = [result for result in results if result.findings]
    if not detected:
        return f"{format_quantity(len(results), 'fault')}, none detected"
    numbers = [len(result.findings) for result in detected]
    first = sum(result.is_cause_first for result in detected)
    counts = f"findings: median {median(numbers):g}, mean {mean(numbers):.1f}, most {max(numbers)}"
    share = f"{first / len(detected):.0%}"
    faults = format_quantity(len(results), "fault")
    return f"{faults}, {len(detected)} detected; {counts}; the cause is listed first for {first} ({share})"
