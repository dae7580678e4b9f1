"""The outcome: what happens when a load test ends. Tallies are merged, reports written, the exit code set."""

from __future__ import annotations

import json
import logging
import time
from typing import TYPE_CHECKING, Any, Final

import gevent
from locust.runners import WorkerRunner

from loadtests.measure import locust_rows as rows
from loadtests.measure.latency import DEFINITIONS
from loadtests.measure.requests_csv import Ledger
from loadtests.report import results
from loadtests.report import terminal as report
from loadtests.run import web_tab as web
from loadtests.run.progress import measured_s, progress

if TYPE_CHECKING:
    from locust.env import Environment

    from loadtests.run.session import Session


WRITE_S: Final = 1.0


def listen(environment: Environment, session: Session) -> None:
    """Hears of workers' tallies and of the end."""
    shares: dict[str, float] = {}
    ledgers: list[Ledger] = []

    def write(lines: list[list[Any]]) -> None:
        if ledgers:
            ledgers[-1].write(lines)

    def write_down() -> None:
        while True:
            gevent.sleep(WRITE_S)
            lines, session.sending.lines = session.sending.lines, []
            write(lines)

    def to_master(data: dict[str, Any], **_: Any) -> None:
        data["chatproof"] = session.sending.tally.take()
        data["chatproof_cpu"] = session.cpu()
        data["chatproof_cold"] = session.sending.cold
        data["chatproof_lines"], session.sending.lines = session.sending.lines, []

    def from_worker(client_id: str, data: dict[str, Any], **_: Any) -> None:
        if "chatproof" in data:
            session.sending.tally.merge(data["chatproof"])
            shares[client_id] = data["chatproof_cpu"]
            session.sending.cold.update(data["chatproof_cold"])
            write(data["chatproof_lines"])

    def started(**_: Any) -> None:
        runner: Any = environment.runner
        if session.settings.out is not None and not isinstance(runner, WorkerRunner):
            ledgers.append(Ledger(session.settings.out / "requests.csv"))
            runner.greenlet.spawn(write_down)

    def stopped(**_: Any) -> None:
        session.ended_ns = time.monotonic_ns()

    def so_far() -> dict[str, Any]:
        cpu = max(shares.values(), default=session.cpu())
        return results.build(
            session.settings, session.sending.tally, *_rows(environment), cpu, measured_s(session),
            session.sending.cold, len(session.lost), session.given_up,
        )  # fmt: skip

    def quitting(environment: Environment, **_: Any) -> None:
        runner: Any = environment.runner
        if isinstance(runner, WorkerRunner):
            environment.process_exit_code = 0
            return
        runner.quit()
        if environment.web_ui and not session.began_ns:  # no test was started, so there is nothing to say
            environment.process_exit_code = 0
            return
        write(session.sending.lines)
        environment.process_exit_code = _finish(session, so_far(), ledgers[-1].error if ledgers else None)

    environment.events.report_to_master.add_listener(to_master)
    environment.events.worker_report.add_listener(from_worker)
    environment.events.test_start.add_listener(started)
    environment.events.test_stop.add_listener(stopped)
    environment.events.quitting.add_listener(quitting)
    logging.getLogger("locust.stats_logger").disabled = True  # our table says it, with our rows and units
    report.follow(environment, session)
    web.add(environment, so_far, lambda: progress(session))


def _rows(environment: Environment) -> tuple[dict[str, results.Buckets], dict[str, tuple[float, float, float]]]:
    buckets, extremes = {}, {}
    for name in DEFINITIONS:
        entry: Any = environment.stats.entries.get((name, rows.METHOD))
        if entry is not None and entry.num_requests:
            counted = list(entry.response_times.items())  # at once: a thread may draw while the test runs
            buckets[name] = [(float(value), count) for value, count in counted]
            extremes[name] = (
                float(entry.min_response_time or 0.0),
                float(entry.max_response_time),
                float(entry.total_response_time),
            )
    return buckets, extremes


def _finish(session: Session, made: dict[str, Any], trouble: str | None) -> int:
    """Prints the report and writes the files; the exit code. `trouble`: why requests.csv could not be written."""
    troubles = [] if trouble is None else [trouble]
    out = session.settings.out
    if out is not None:
        from loadtests.report import html as page  # not before the first request: the end has the time

        try:
            out.mkdir(parents=True, exist_ok=True)
            text = json.dumps(made, ensure_ascii=False, indent=1)
            (out / "results.json").write_text(text + "\n", encoding="utf-8")
            (out / "report.html").write_text(page.page(made), encoding="utf-8")
        except OSError as error:
            troubles.append(f"{error.filename or out}: {error.strerror}")
    report.show(made, None if troubles else out)
    for each in troubles:
        report.complain(f"--out {each} (exit code {results.OWN_ERROR})")
    return results.OWN_ERROR if troubles else int(made["exit_code"])
