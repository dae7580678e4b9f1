"""Judge the reference server in each of its modes: all follow their document, so the suite must pass strictly.

A mode that several dialects have, such as the lack of one capability, is tested in the first of them. It is tested with
the scenarios that send other requests than to the server without options, with all streams if it changes them, and with
a sample of the others; of scenarios with many requests it is tested with a few, others for each mode. A thorough test
is one of all modes with all scenarios of a thorough run.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from conformance.client.secret import Secret
from conformance.plan.capabilities import DeclaredCapabilities
from conformance.proof.fault_host import list_dialects
from conformance.proof.scenario_selection import limit_requests, narrow
from conformance.record import BudgetLimits
from conformance.report.outcome import Outcome
from conformance.run.drafting import draft
from conformance.run.session.options import RunOptions
from conformance.run.session.preparation import prepare_server
from conformance.run.session.sending import send
from openapi.contract.contract import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence, Set

    from conformance.plan.depth import Depth
    from conformance.plan.plan import Plan
    from conformance.proof.fault_host import HostedMode, RunningFaultHost
    from conformance.run.session.conclusion import RunOutcome

    Requests = Mapping[str, frozenset[object]]

CONCURRENT_MODES = 3  # the engine batches their tokens
SAMPLE_SIZE = 8
ONE_LACKING, ALL_LACKING = "mode:without-", "mode:without-all"


@dataclass(frozen=True, slots=True)
class ModeResult:
    """The result of one mode: how many requests were sent, and what was reported although the server is correct."""

    mode: HostedMode
    requests: int
    reported: tuple[str, ...]


def select_modes(modes: Sequence[HostedMode]) -> list[HostedMode]:
    """Return the modes without those that lack one capability which a mode of an earlier dialect lacks as well."""
    order = list_dialects()
    first = {
        mode.name: mode.dialect for mode in sorted(modes, key=lambda mode: order.index(mode.dialect), reverse=True)
    }
    alone = [mode for mode in modes if mode.name.startswith(ONE_LACKING) and mode.name != ALL_LACKING]
    return [mode for mode in modes if mode not in alone or first[mode.name] == mode.dialect]


async def run_modes(
    host: RunningFaultHost, modes: Sequence[HostedMode], on_progress: Callable[[str], None], *, thorough: bool
) -> tuple[ModeResult, ...]:
    """Judge the modes, a few at a time. `on_progress` is called with a line of text after each."""
    free = asyncio.Semaphore(CONCURRENT_MODES)
    depth: Depth = "thorough" if thorough else "standard"
    usual = {} if thorough else {name: _usual_requests(name, depth) for name in {mode.dialect for mode in modes}}

    async def run(mode: HostedMode) -> ModeResult:
        async with free:
            result = await judge_mode(host, mode, usual.get(mode.dialect), depth)
        on_progress(f"{mode.dialect} {mode.name}: {len(result.reported)} reported")
        return result

    return tuple(await asyncio.gather(*(run(mode) for mode in modes)))


def _usual_requests(dialect: str, depth: Depth) -> Requests:
    """Return what each scenario sends to a server that has every capability, by its id."""
    contract = load(dialect)
    plan = draft(contract, DeclaredCapabilities(frozenset(contract.capabilities), frozenset(), ""), depth=depth)
    return {scenario.id: frozenset(scenario.request_key(contract.default_model)) for scenario in plan.scenarios}


def _select(plan: Plan, mode: HostedMode, usual: Requests, model: str) -> Plan:
    """Return the part of a plan that may show the mode, and a sample of the rest."""
    shown, others = set(), []
    for scenario in plan.scenarios:
        streamed = mode.full_text and any(step.streams for step in scenario.steps)
        if streamed or not usual.get(scenario.id, frozenset()).issuperset(scenario.request_key(model)):
            shown.add(scenario.id)
        else:
            others.append(scenario.id)
    draw = random.Random(f"{mode.dialect}/{mode.name}")
    sample = draw.sample(others, min(SAMPLE_SIZE, len(others)))
    return narrow(plan, limit_requests(frozenset(shown), plan, draw) | {*sample})


async def judge_mode(host: RunningFaultHost, mode: HostedMode, usual: Requests | None, depth: Depth) -> ModeResult:
    """Judge one mode. `usual`: the requests of which a sample is enough; None to send all."""
    secret = Secret(host.key) if mode.key else None
    limits = BudgetLimits(deadline_s=60.0)
    options = RunOptions(
        url=host.address(mode.dialect, mode.name), dialect=mode.dialect, depth=depth, strict=True, budget=limits
    )
    prepared = await prepare_server(options, secret)
    plan = prepared.plan if usual is None else _select(prepared.plan, mode, usual, prepared.model)
    sent = {scenario.id for scenario in plan.scenarios}
    sampled = {item.requirement.id for item in prepared.plan.assertions if item.scenario.id not in sent}
    outcome = await send(replace(prepared, plan=plan), secret)
    return ModeResult(mode, outcome.record.requests, tuple(_reported(outcome, sampled)))


def _reported(outcome: RunOutcome, sampled: Set[str]) -> Iterable[str]:
    """Yield one line for each requirement that fails the run.

    sampled: requirements of which not all scenarios were sent, so that the others may show what these do not.
    """
    for row in outcome.report.rows:
        if row.outcome is Outcome.UNTESTABLE and row.id in sampled:
            continue
        if row.outcome is Outcome.ERROR or outcome.report.fails(row, strict=True):
            found = [
                f"{item.scenario}: expected {item.finding.expected}, got {item.finding.got}" for item in row.findings
            ]
            yield f"{row.id}: {row.outcome}: {found[0] if found else row.note}"
    if outcome.report.exhausted:
        yield f"the run ended early: {outcome.report.exhausted}"
