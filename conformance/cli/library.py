"""`chatproof.check` and `chatproof.judge`: what the commands do, without a command line."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from conformance.client import headers as header_options
from conformance.client.secret import Secret
from conformance.plan.capabilities import default_capabilities
from conformance.record import BudgetLimits
from conformance.replay.rejudge import judge_again
from conformance.report import waivers as waiver_files
from conformance.report.results_file import read_results, upgrade
from conformance.report.writers.report_files import write_reports
from conformance.run import embedded_server
from conformance.run.drafting import require_matching_patterns, require_matching_waivers
from conformance.run.session.options import RunOptions
from conformance.run.session.preparation import prepare_server
from conformance.run.session.sending import send
from conformance.run.session.target import load_contract

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence

    from conformance.plan.depth import Depth
    from conformance.report.verdict import Report

T = TypeVar("T")


def check(
    url: str | None = None,
    *,
    dialect: str | Path,
    model: str | None = None,
    api_key: str | None = None,
    headers: Mapping[str, str] | None = None,
    only: Sequence[str] = (),
    topics: Sequence[str] = (),
    depth: Depth = "standard",
    capabilities: Mapping[str, bool] | None = None,
    strict: bool = False,
    waivers: str | Path | None = None,
    max_requests: int | None = 1500,
    max_tokens: int | None = 200_000,
    max_time_s: float | None = 1200.0,
    timeout_s: float = 120.0,
    concurrency: int = 4,
    verify: bool = True,
    results: str | Path | None = None,
) -> Report:
    """Judge a chat-completions server, as the command `chatproof check` does, and return the report.

    url: of the server; None for the embedded one.
    dialect: a built-in or installed dialect, or the path of a dialect file.
    api_key: the key itself; it never appears in a report.
    only, topics: globs of checks, requirements or scenarios, and topics of checks.
    capabilities: whether the server has them, whatever the dialect and the server say.
    waivers: the file of known failures to accept.
    max_requests, max_tokens, max_time_s: the budget, judging included; None: unlimited.
    results: the file to write, which `judge` reads.

    Raises UsageError for an invalid argument or file, and Unreachable if the server cannot be judged.
    """
    started_s = time.monotonic()
    contract = load_contract(str(dialect), "dialect")
    accepted = waiver_files.read(Path(waivers)) if waivers is not None else ()
    require_matching_patterns(contract, tuple(only), tuple(topics))
    overrides = tuple((capabilities or {}).items())
    default_capabilities(contract).with_overrides(contract, overrides)
    require_matching_waivers(accepted, (contract,))
    with ExitStack() as stack:
        secret = Secret(api_key) if api_key else None
        if url is None:
            server = stack.enter_context(embedded_server.serve(contract))
            url, secret = server.url, Secret(server.key) if server.key else None
        options = RunOptions(
            url=url,
            dialect=contract.location,
            model=model,
            only=tuple(only),
            topics=tuple(topics),
            depth=depth,
            capabilities=overrides,
            strict=strict,
            budget=BudgetLimits(max_requests, max_tokens, max_time_s, deadline_s=timeout_s, concurrency=concurrency),
            verify=verify,
            waivers=accepted,
            headers=header_options.read([f"{name}: {value}" for name, value in (headers or {}).items()], ()),
            started_s=started_s,
        )

        async def run() -> Any:
            return await send(await prepare_server(options, secret), secret)

        outcome = _run(run())
    if results is not None:
        write_reports([("json", Path(results))], outcome.results)
    report: Report = outcome.report
    return report


def judge(
    results: str | Path | Mapping[str, Any],
    *,
    dialects: Sequence[str | Path] = (),
    only: Sequence[str] = (),
    topics: Sequence[str] = (),
    strict: bool | None = None,
    waivers: str | Path | None = None,
) -> Report:
    """Judge a recorded run again with today's checks, as the command `chatproof judge` does. Nothing is sent.

    results: the path of a results file, or its content.
    dialects: the files of the dialects outside chatproof that the run was judged by.
    strict: None for the setting of the recorded run.

    Raises UsageError for an invalid argument or file.
    """
    content = read_results(Path(results)) if isinstance(results, str | Path) else upgrade(dict(results))
    return judge_again(
        content,
        strict=strict,
        only=tuple(only),
        topics=tuple(topics),
        waivers=waiver_files.read(Path(waivers)) if waivers is not None else (),
        own=tuple(load_contract(str(dialect), "dialects") for dialect in dialects),
    ).outcome.report


def _run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where an event loop is running, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    finished: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            finished.append(asyncio.run(coroutine))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return finished[0]
