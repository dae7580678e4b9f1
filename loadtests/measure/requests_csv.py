"""The ledger: requests.csv, one line for each request of the measured time."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any, Final

from loadtests.measure import latency

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from loadtests.client.answer import Answer

COLUMNS: Final = (
    *("number", "sent_s", "send_lag_ms", "connect_ms", "ttft_ms", "longest_gap_ms", "tpot_ms", "e2e_ms"),
    *("content_events", "completion_tokens", "size_bytes", "status", "failure", "streamed", "judged"),
)
DIGITS: Final = 3


def line(number: int, answer: Answer, began_ns: int, *, streamed: bool, judged: bool) -> list[Any]:
    """An answer by `COLUMNS`, after `live.fresh` has looked at it: seconds from the end of the warm-up, milliseconds;
    empty for what it has not."""
    longest_ms = answer.longest_gap_ms if len(answer.stamps_ns) > 1 else None
    tpot_ms = latency.time_per_token_ms(answer) if answer.succeeded else None
    ttft_ms = (answer.stamps_ns[0] - answer.sent_ns) / latency.MS if answer.stamps_ns else None
    connect_ms = None if answer.connect_ns is None else answer.connect_ns / latency.MS
    return [
        number,
        round((answer.sent_ns - began_ns) / 1e9, 6),
        _rounded((answer.sent_ns - answer.intended_ns) / latency.MS),
        *map(_rounded, (connect_ms, ttft_ms, longest_ms, tpot_ms)),
        _rounded((answer.ended_ns - answer.sent_ns) / latency.MS),
        *(sum(answer.counts), answer.completion_tokens, answer.size_bytes, answer.status or None, answer.failure),
        *(int(streamed), int(judged)),
    ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


class Ledger:
    """Writes lines to a file as they come, so that a long test keeps memory flat. `error`: why it could not."""

    def __init__(self, path: Path) -> None:
        self.error: str | None = None
        self._path = path
        self._begun = False

    def write(self, lines: Iterable[list[Any]]) -> None:
        """Adds lines; the first time the file is begun anew."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a" if self._begun else "w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                if not self._begun:
                    writer.writerow(COLUMNS)
                    self._begun = True
                writer.writerows(lines)
        except OSError as error:
            self.error = f"{self._path}: {error.strerror}"
