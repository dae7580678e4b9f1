"""Run one check with its progress in the terminal, and select what failed in the run before."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.markup import escape

from conformance.errors import UsageError
from conformance.plan.expected_cost import estimate_cost
from conformance.plan.expected_time import describe_time
from conformance.replay.client_parsers import add_clients
from conformance.report import waivers
from conformance.report.results_file import read_results
from conformance.report.writers import terminal
from conformance.report.writers.evidence import RESULTS_FILE
from conformance.report.writers.logs.json_lines import LiveLog
from conformance.report.writers.progress_bar import ProgressBar
from conformance.run.live_judging import LiveJudging
from conformance.run.session.preparation import prepare_server
from conformance.run.session.sending import send

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rich.console import Console

    from conformance.client.secret import Secret
    from conformance.plan.plan import Plan
    from conformance.record import Record
    from conformance.report.waivers import Waiver
    from conformance.run.session.conclusion import RunOutcome
    from conformance.run.session.options import RunOptions
    from conformance.run.session.preparation import PreparedRun


def judge_server(
    options: RunOptions,
    secret: Secret | None,
    console: Console,
    *,
    file: str = RESULTS_FILE,
    clients: bool = False,
    fail_fast: bool = False,
    logs: Iterable[Path] = (),
) -> RunOutcome:
    """Judge one server by one dialect, and print the progress and the results.

    file: where the results will be written, for the commands that read them. logs: files for JSON lines, which grow
    during the run.
    """

    async def run() -> RunOutcome:
        with console.status(f"requesting the models of {escape(options.url)}"):
            prepared = await prepare_server(options, secret, timed=True)
        plan = prepared.plan
        line = terminal.plan_lines(
            prepared.contract.name,
            prepared.target.chat_url,
            prepared.model,
            requirements=len({assertion.requirement.id for assertion in plan.assertions}),
            usual=_describe_usual(prepared),
            requests=_least(prepared.requests, options.budget.max_requests),
            tokens=_least(prepared.tokens, options.budget.max_tokens),
        )
        console.print(line, soft_wrap=True)
        expected = sum(estimate_cost(one.plan).requests for one in (prepared, *prepared.also))
        with ExitStack() as stack:
            logged = [stack.enter_context(LiveLog(path)) for path in logs]
            for log in logged:
                log.begin(prepared.target.chat_url, prepared.contract.name, prepared.model)
            watchers: tuple[ProgressBar | LiveLog, ...] = (stack.enter_context(ProgressBar(console, expected)), *logged)

            live = LiveJudging(
                plan,
                prepared.model,
                lambda failure: [watcher.show_failure(failure) for watcher in watchers],
                strict=options.strict,
                fail_fast=fail_fast,
                accepted=_accepted(options.waivers, plan),
            )
            outcome = await _send_watched(prepared, secret, live, watchers)
            for log in logged:
                log.end(outcome.results)
        if live.failing:
            console.print()  # separates the lines of the run from the report
        return outcome

    outcome = asyncio.run(run())
    if clients:
        outcome = replace(outcome, results=add_clients(outcome.results))
    terminal.write(outcome.results, console, file)
    return outcome


def _describe_usual(prepared: PreparedRun) -> str:
    """Return the usual cost of the first plan, and how long the requests of all plans take."""
    first, *others = (estimate_cost(one.plan) for one in (prepared, *prepared.also))
    if prepared.pace is None:
        return first.describe()
    budget = prepared.options.budget
    everything = sum(others, start=first)
    return f"{first.describe()}, {describe_time(everything, prepared.pace, budget.concurrency, budget.rate)}"


def _least(planned: int, limit: int | None) -> int:
    """Return the smaller of what a plan may send and what the user allows."""
    return planned if limit is None else min(planned, limit)


async def _send_watched(
    prepared: PreparedRun, secret: Secret | None, live: LiveJudging, watchers: Iterable[ProgressBar | LiveLog]
) -> RunOutcome:
    """Send the plan of a prepared run, and judge its answers meanwhile."""

    def show_progress(record: Record) -> None:
        live.note(record)
        for watcher in watchers:
            watcher.update(record)

    judging = asyncio.create_task(live.run())
    try:
        return await send(prepared, secret, show_progress)
    finally:
        judging.cancel()


def failed_before(
    files: dict[str, list[tuple[str, Path]]], only: tuple[str, ...], topics: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the requirements that failed in the run before, from the first json report.

    Raise UsageError together with other selections, for several dialects, and for a run by another dialect.
    """
    if only or topics or len(files) > 1:
        raise UsageError("--last-failed, --only, --topic and --dialect all are mutually exclusive")
    ((dialect, reports),) = files.items()
    path = next(path for kind, path in reports if kind == "json")
    if not path.exists():
        raise UsageError(f"--last-failed: {path} is missing: run without the option first")
    results = read_results(path)
    if results["target"]["dialect"] != dialect:
        raise UsageError(f"--last-failed: {path} is of a run by {results['target']['dialect']}, not {dialect}")
    rows = (row for row in results["requirements"] if row["fails"] and row["check"] != "waivers.needed")
    return tuple(row["id"] for row in rows if not row["id"].startswith("capability."))


def _accepted(accepted: tuple[Waiver, ...], plan: Plan) -> set[str]:
    """Return the requirements of a plan whose failure a waiver accepts today."""
    today = datetime.now(UTC).date()
    names = {assertion.requirement.id for assertion in plan.assertions}
    return {name for name in names if waivers.find_waiver(accepted, name, today)}
