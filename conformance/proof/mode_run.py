"""Judge the reference server in each of its modes: all follow their document, so the whole suite must pass strictly."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.client.client import Client
from conformance.client.secret import Secret
from conformance.record import BudgetLimits
from conformance.report.verdict import Outcome
from conformance.run.session import RunOptions, prepare, send

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from conformance.proof.fault_host import HostedMode, RunningFaultHost
    from conformance.run.session import RunOutcome

CONCURRENT_MODES = 3  # the engine batches their tokens


@dataclass(frozen=True, slots=True)
class ModeResult:
    """The result of one mode: how many requests were sent, and what was reported although the server is correct."""

    mode: HostedMode
    requests: int
    reported: tuple[str, ...]


async def run_modes(
    host: RunningFaultHost, modes: Iterable[HostedMode], on_progress: Callable[[str], None]
) -> tuple[ModeResult, ...]:
    """Judge the modes, a few at a time. `on_progress` is called with a line of text after each."""
    free = asyncio.Semaphore(CONCURRENT_MODES)

    async def run(mode: HostedMode) -> ModeResult:
        async with free:
            result = await judge_mode(host, mode)
        on_progress(f"{mode.dialect} {mode.name}: {len(result.reported)} reported")
        return result

    return tuple(await asyncio.gather(*(run(mode) for mode in modes)))


async def judge_mode(host: RunningFaultHost, mode: HostedMode) -> ModeResult:
    """Judge one mode with the whole suite."""
    secret = Secret(host.key) if mode.key else None
    limits = BudgetLimits(deadline_s=60.0)
    options = RunOptions(url=host.address(mode.dialect, mode.name), dialect=mode.dialect, strict=True, budget=limits)
    async with Client(options.url, secret) as client:
        prepared = await prepare(options, client)
    outcome = await send(prepared, secret)
    return ModeResult(mode, outcome.record.requests, tuple(_reported(outcome)))


def _reported(outcome: RunOutcome) -> Iterable[str]:
    """Yield one line for each requirement that fails the run."""
    for row in outcome.report.rows:
        if row.outcome is Outcome.ERROR or outcome.report.fails(row, strict=True):
            found = [
                f"{item.scenario}: expected {item.finding.expected}, got {item.finding.got}" for item in row.findings
            ]
            yield f"{row.id}: {row.outcome}: {found[0] if found else row.note}"
    if outcome.report.exhausted:
        yield f"the run ended early: {outcome.report.exhausted}"
