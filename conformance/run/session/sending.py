"""The sending of the prepared plans to the server, and what it led to."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from conformance.client.client import Client
from conformance.judging_limit import INTERRUPTED
from conformance.record import BudgetLimits, Record, Spent
from conformance.report.results import add_dialects
from conformance.run.calls import ServerUnderTest
from conformance.run.failures.canary import Canary
from conformance.run.media.media_host import serve_media
from conformance.run.media.media_places import MediaPlaces
from conformance.run.run import Run
from conformance.run.saved_requests import index_exchanges
from conformance.run.session.conclusion import RunOutcome, conclude, limit_judging
from conformance.run.session.target import load_contract, parse_target

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.client.secret import Secret
    from conformance.run.session.options import RunOptions
    from conformance.run.session.preparation import PreparedRun
    from openapi.contract.contract import Contract


async def send(
    prepared: PreparedRun, secret: Secret | None, on_progress: Callable[[Record], None] = lambda _: None
) -> RunOutcome:
    """Send the plan, judge the answers and build the report. If cancelled, judge what has been recorded.

    An interrupt while the answers are judged ends that too.
    """
    with serve_media(prepared.options.media_host) as host:
        media = MediaPlaces(host, (prepared.options.media_path or "").rstrip("/"))
        return await _send(prepared, secret, on_progress, media)


async def _send(
    prepared: PreparedRun, secret: Secret | None, on_progress: Callable[[Record], None], media: MediaPlaces
) -> RunOutcome:
    """Send the plan while the server finds the media files at these places."""
    started_at, started_s = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    records: list[Record] = []
    async with _open_client(prepared.options, secret) as client:
        for current in (prepared, *prepared.also):
            run = Run(
                current.plan,
                ServerUnderTest(client, current.target, current.model, media),
                _with_spent(prepared.options, records),
                on_progress=on_progress,
                reusable=index_exchanges(prepared.plan, records[0], prepared.model) if records else None,
                id_prefix=f"{current.contract.name}:" if records else "",
                canary=_make_canary(current.plan.contract, prepared),
            )
            if not records:
                run.record.requests, run.record.tokens = prepared.spent.requests, prepared.spent.tokens
            try:
                records.append(await run.execute())
            except asyncio.CancelledError:
                run.record.exhausted = INTERRUPTED
                records.append(run.record)
                break
    duration_s = time.monotonic() - started_s
    with limit_judging(prepared.options) as limit:
        first = conclude(prepared, records[0], started_at, duration_s, limit)
        others = tuple(
            conclude(other, record, started_at, duration_s, limit)
            for other, record in zip(prepared.also, records[1:], strict=False)
        )
    return replace(first, also=others, results=add_dialects(first.results, [other.results for other in others]))


def _make_canary(contract: Contract, prepared: PreparedRun) -> Canary | None:
    """Return the canary; None if the server refused the good request of the preflight, which the canary resembles."""
    return Canary(contract, is_due_first=prepared.failed) if prepared.answered or prepared.failed else None


def _with_spent(options: RunOptions, records: list[Record]) -> BudgetLimits:
    """Return the limits of a run with what earlier plans have spent; the first record begins with the preflight."""
    spent = Spent(
        sum(record.requests for record in records),
        sum(record.tokens for record in records),
        time.monotonic() - options.started_s,
    )
    return replace(options.budget, spent=spent)


def _open_client(options: RunOptions, secret: Secret | None) -> Client:
    base = parse_target(options.url, load_contract(options.dialect)).base
    return Client(base, secret, headers=options.headers, verify=options.verify)
