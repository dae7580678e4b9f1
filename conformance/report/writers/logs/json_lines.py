"""Write a run as JSON lines, one event a line; `check` writes them while the run is going on.

    {"event": "start", "url": ..., "dialect": ..., "model": ...}
    {"event": "exchange", "id": ..., "status": 200, "duration_s": 0.1, "failure": null}
    {"event": "failure", "requirement": ..., "exchange": ..., "expected": ..., "got": ...}
    {"event": "requirement", "id": ..., "keyword": "MUST", "outcome": "PASS", "fails": false, ...}
    {"event": "end", "verdict": "conformant", "counts": {...}}

A failure is reported as soon as a single answer shows it; the requirements follow at the end of the run.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Self

from conformance.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from conformance.exchange import Exchange
    from conformance.record import Record
    from conformance.report.writers.progress_bar import LiveFailure

ROW: Final = ("id", "keyword", "outcome", "fails", "summary", "note", "causes")


def write(results: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a run that has ended."""
    target = results["target"]
    yield start_line(target["url"], target["dialect"], target["model"])
    for item in results["exchanges"]:
        yield _exchange_line(item["id"], item["response"], item["failure"])
    yield from end_lines(results)


def start_line(url: str, dialect: str, model: str) -> str:
    """Return the first line."""
    return _line("start", url=url, dialect=dialect, model=model)


def end_lines(results: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each requirement, and the last line."""
    for row in results["requirements"]:
        yield _line("requirement", **{name: row[name] for name in ROW}, findings=row["findings"])
    run = results["run"]
    totals = {"requests": run["requests"], "duration_s": run["duration_s"], "ended_early": run["exhausted"]}
    totals |= {"unjudged": run["unjudged"]} if "unjudged" in run else {}
    totals |= {name: results[name] for name in ("counts", "document")}
    yield _line("end", verdict=results["verdict"], **totals)


def _exchange_line(identity: str, response: Mapping[str, Any] | None, failure: Mapping[str, Any] | None) -> str:
    return _line(
        "exchange",
        id=identity,
        status=response and response["status"],
        duration_s=response and round(response["ended_at_s"], 4),
        failure=failure and failure["kind"],
    )


def _line(event: str, **fields: Any) -> str:
    """Return one line. Characters outside ASCII are escaped, so that no terminal interprets them."""
    return json.dumps({"event": event, **fields}) + "\n"


class LiveLog:
    """A file of JSON lines that grows during a run. Each line is flushed, so that `tail -f` shows it at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: dict[int, int] = {}  # by record

    def __enter__(self) -> Self:
        """Open the file. Raise UsageError if it cannot be written."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("w", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {self._path}: {error.strerror}") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def begin(self, url: str, dialect: str, model: str) -> None:
        """Write the first line."""
        self._write(start_line(url, dialect, model))

    def update(self, record: Record) -> None:
        """Write the exchanges that the record has gained."""
        seen = self._seen.get(id(record), 0)
        for exchange in islice(record.exchanges.values(), seen, None):
            self._write(_line_of(exchange))
        self._seen[id(record)] = len(record.exchanges)

    def show_failure(self, failure: LiveFailure) -> None:
        """Write a failure that a single answer shows."""
        finding = failure.finding
        self._write(
            _line(
                "failure",
                requirement=failure.requirement,
                keyword=failure.keyword,
                exchange=failure.exchange,
                where=finding.where,
                expected=finding.expected,
                got=finding.got,
            )
        )

    def end(self, results: dict[str, Any]) -> None:
        """Write the requirements and the last line."""
        for line in end_lines(results):
            self._write(line)

    def _write(self, line: str) -> None:
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            raise UsageError(f"cannot write {self._path}: {error.strerror}") from error


def _line_of(exchange: Exchange) -> str:
    response, failure = exchange.response, exchange.failure
    return _exchange_line(
        exchange.id,
        None if response is None else {"status": response.status, "ended_at_s": response.ended_at_s},
        None if failure is None else {"kind": failure.kind},
    )
