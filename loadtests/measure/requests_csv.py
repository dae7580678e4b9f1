"""Write requests.csv: one row for each request of the measured time."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Final

from loadtests.measure.latency import MS, time_per_token_ms

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from loadtests.client.answer import Answer

COLUMNS: Final = (
    *("number", "sent_s", "send_lag_ms", "connect_ms", "upload_ms", "ttft_ms", "longest_gap_ms", "tpot_ms", "e2e_ms"),
    *("content_events", "completion_tokens", "size_bytes", "status", "failure", "streamed", "judged"),
)
DIGITS: Final = 3


def format_row(number: int, answer: Answer, began_ns: int, *, streamed: bool, judged: bool) -> list[Any]:
    """Return the row of an answer, after `live_progress.take_new` has counted it.

    Seconds count from the end of the warm-up; a value that does not exist is empty.
    """
    longest_ms = answer.longest_gap_ms if len(answer.stamps_ns) > 1 else None
    tpot_ms = time_per_token_ms(answer) if answer.succeeded else None
    ttft_ms = (answer.stamps_ns[0] - answer.sent_ns) / MS if answer.stamps_ns else None
    connect_ms = None if answer.connect_ns is None else answer.connect_ns / MS
    upload_ms = None if answer.uploaded_ns is None else (answer.uploaded_ns - answer.sent_ns) / MS
    return [
        number,
        round((answer.sent_ns - began_ns) / 1e9, 6),
        _round((answer.sent_ns - answer.intended_ns) / MS),
        *map(_round, (connect_ms, upload_ms, ttft_ms, longest_ms, tpot_ms)),
        _round((answer.ended_ns - answer.sent_ns) / MS),
        *(sum(answer.counts), answer.completion_tokens, answer.size_bytes, answer.status or None, answer.failure),
        *(int(streamed), int(judged)),
    ]


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


class RequestsCsv:
    """Writes rows to a file as they come, so that a long test does not fill the memory.

    error: why writing failed. The file then ends with the last row that was written completely, and gets no more.
    """

    def __init__(self, path: Path) -> None:
        self.error: str | None = None
        self._path = path
        self._size: int | None = None

    def write(self, rows: Iterable[list[Any]]) -> None:
        """Append rows; the first call replaces the file."""
        if self.error is not None:
            return
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        if self._size is None:
            writer.writerow(COLUMNS)
        writer.writerows(rows)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("wb" if self._size is None else "r+b", buffering=0) as file:
                self._size = self._size or 0
                file.seek(self._size)
                try:
                    self._size += _write_all(file, text.getvalue().encode())
                except OSError:
                    file.truncate(self._size)
                    raise
        except OSError as error:
            self.error = f"{self._path}: {error.strerror}; the rows of later requests are missing"


def _write_all(file: io.FileIO, data: bytes) -> int:
    left = memoryview(data)
    while left:
        left = left[file.write(left) or 0 :]
    return len(data)
