"""Merge the counts of workers, write requests.csv, and write all reports and set the exit code when a test ends."""

from __future__ import annotations

import json
import logging
import time
from typing import TYPE_CHECKING, Any, Final

import gevent
from gevent.lock import BoundedSemaphore
from locust.runners import WorkerRunner

from loadtests.measure.latency import DEFINITIONS
from loadtests.measure.locust_rows import METHOD
from loadtests.measure.requests_csv import RequestsCsv
from loadtests.report import terminal
from loadtests.report.extra_reports import write_extra_reports
from loadtests.report.measurement import Measurement
from loadtests.report.results import INTERNAL_ERROR, build_results
from loadtests.run import web_tab
from loadtests.run.progress import describe_progress, measured_s
from openapi.whole_file import write_whole_text

if TYPE_CHECKING:
    from locust.env import Environment

    from loadtests.report.measurement import Buckets
    from loadtests.run.session import Session

WRITE_INTERVAL_S: Final = 1.0


class _Finalizer:
    """Handles Locust's events of one session."""

    def __init__(self, environment: Environment, session: Session) -> None:
        self._environment = environment
        self._session = session
        self._worker_cpu: dict[str, float] = {}
        self._csv: RequestsCsv | None = None
        self._interrupted = False
        self._quitting = BoundedSemaphore()
        self._is_reported = False

    def add_to_report(self, data: dict[str, Any], **_: Any) -> None:
        """Add the counts of this worker to its report to the master."""
        generator = self._session.generator
        data["chatproof"] = generator.tally.take()
        data["chatproof_cpu"] = self._session.cpu_share()
        data["chatproof_warm_up_failures"] = generator.warm_up_failures
        data["chatproof_csv_rows"], generator.csv_rows = generator.csv_rows, []

    def merge_report(self, client_id: str, data: dict[str, Any], **_: Any) -> None:
        """Add the report of a worker to the counts of this master."""
        if "chatproof" in data:
            generator = self._session.generator
            generator.tally.merge(data["chatproof"])
            self._worker_cpu[client_id] = data["chatproof_cpu"]
            generator.warm_up_failures.update(data["chatproof_warm_up_failures"])
            self._write_rows(data["chatproof_csv_rows"])

    def start(self, **_: Any) -> None:
        """Begin a new requests.csv."""
        runner: Any = self._environment.runner
        out = self._session.settings.out
        if out is not None and not isinstance(runner, WorkerRunner):
            self._csv = RequestsCsv(out / "requests.csv")
            runner.greenlet.spawn(self._write_periodically)

    def stop(self, **_: Any) -> None:
        """Record the end of the test."""
        self._session.ended_ns = time.monotonic_ns()

    def build_current_results(self) -> dict[str, Any]:
        """Return the results of the test so far."""
        session = self._session
        rows, extremes = _read_rows(self._environment)
        measured = Measurement(
            session.generator.tally,
            rows,
            extremes,
            cpu=max(self._worker_cpu.values(), default=session.cpu_share()),
            measured_s=measured_s(session),
            warm_up_failures=session.generator.warm_up_failures,
            lost_workers=len(session.lost_workers),
            aborted=session.aborted,
            interrupted=self._interrupted,
        )
        return build_results(session.settings.describe(), measured)

    def quit(self, environment: Environment, **_: Any) -> None:
        """Write the reports and set the exit code, once: after a signal Locust calls this twice.

        The second call waits, as the process ends after it.
        """
        with self._quitting:
            if not self._is_reported:
                self._is_reported = True
                self._report(environment)

    def _report(self, environment: Environment) -> None:
        runner: Any = environment.runner
        if isinstance(runner, WorkerRunner):
            environment.process_exit_code = 0
            return
        self._interrupted = not self._session.ended_ns  # a test whose time is up has ended before
        runner.quit()
        if environment.web_ui and not self._session.began_ns:  # no test was started, so there is nothing to report
            environment.process_exit_code = 0
            return
        self._write_rows(self._session.generator.csv_rows)
        environment.process_exit_code = self._write_reports(self.build_current_results())

    def _write_rows(self, rows: list[list[Any]]) -> None:
        if self._csv is not None:
            self._csv.write(rows)

    def _write_periodically(self) -> None:
        generator = self._session.generator
        while True:
            gevent.sleep(WRITE_INTERVAL_S)
            rows, generator.csv_rows = generator.csv_rows, []
            self._write_rows(rows)

    def _write_reports(self, results: dict[str, Any]) -> int:
        """Print the report, write the files, and return the exit code."""
        errors = [] if self._csv is None or self._csv.error is None else [self._csv.error]
        out = self._session.settings.out
        if out is not None:
            from loadtests.report.html import render_report  # imported late, to start sending requests earlier

            try:
                out.mkdir(parents=True, exist_ok=True)
                text = json.dumps(results, ensure_ascii=False, indent=1)
                write_whole_text(out / "results.json", text + "\n")
                write_whole_text(out / "report.html", render_report(results))
            except OSError as error:
                errors.append(f"{error.filename or out}: {error.strerror}")
        terminal.print_report(results, None if errors else out)
        errors = [f"--out {message}" for message in errors]
        errors += [f"--report {message}" for message in write_extra_reports(self._session.settings.reports, results)]
        for message in errors:
            terminal.print_error(f"{message} (exit code {INTERNAL_ERROR})")
        return INTERNAL_ERROR if errors else int(results["exit_code"])


def register_handlers(environment: Environment, session: Session) -> None:
    """Register the handlers of Locust's events, the progress in the terminal and the tab of the web interface."""
    finalizer = _Finalizer(environment, session)
    events = environment.events
    events.report_to_master.add_listener(finalizer.add_to_report)
    events.worker_report.add_listener(finalizer.merge_report)
    events.test_start.add_listener(finalizer.start)
    events.test_stop.add_listener(finalizer.stop)
    events.quitting.add_listener(finalizer.quit)
    logging.getLogger("locust.stats_logger").disabled = True  # the report's own table replaces it
    terminal.follow_progress(environment, session.generator.tally, lambda: describe_progress(session))
    web_tab.add_tab(environment, finalizer.build_current_results, lambda: describe_progress(session))


def _read_rows(environment: Environment) -> tuple[dict[str, Buckets], dict[str, tuple[float, float, float]]]:
    """Return the buckets of each latency, and its least, greatest and sum."""
    buckets, extremes = {}, {}
    for name in DEFINITIONS:
        entry: Any = environment.stats.entries.get((name, METHOD))
        if entry is not None and entry.num_requests:
            counted = list(entry.response_times.items())  # copied, as a thread may read while the test runs
            buckets[name] = [(float(value), count) for value, count in counted]
            extremes[name] = (
                float(entry.min_response_time or 0.0),
                float(entry.max_response_time),
                float(entry.total_response_time),
            )
    return buckets, extremes
