"""The page of the fault table, made from the results of a run."""

from __future__ import annotations

import os
import platform
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from tests.robustness.rows import ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.robustness.rows import Row

COMMAND: Final = "pytest tests/robustness --robustness-page docs/robustness.md"
MEBIBYTE: Final = 2**20
PARTS: Final = {
    "server": "The server",
    "media": "Media",
    "process": "The process of the server",
    "harness": "The suite and the load test",
}
NOTES: Final = {
    "server": "Each row is sent to the reference server in a process of its own, in two dialects, while a healthy "
    "client streams. In every row refusals have the envelope of the dialect and at most 4 KiB, without a path, an "
    "address, a class name or a traceback; no status is 5xx, except 503; the healthy client loses no token and "
    "waits at most 1 s; `/health` answers within 1 s; and within 5 s slots, sockets, files and threads are as "
    "before, and the memory has grown by at most 64 MB.",
    "media": "The server takes media from requests, from one folder (`--media-root`) and from one host "
    "(`--media-domain`). The conditions of the rows above hold, and a refusal names the place in the request.",
    "process": "Each row has a process of its own, which it ends or breaks.",
    "harness": "`chatproof check`, and `chatproof load` where the row applies, run as a user runs them. In every row "
    "they end by themselves with a named verdict other than PASS, no traceback, and at most 256 MB of memory; every "
    "report can be read; and no output has the API key.",
}


def write_page(path: Path, outcomes: Mapping[int, Mapping[str, Any]]) -> None:
    """Write the page with the results of the rows that were run."""
    path.write_text(render(outcomes), encoding="utf-8")


def render(outcomes: Mapping[int, Mapping[str, Any]]) -> str:
    """Return the page."""
    survived = sum(bool(outcome["passed"]) for outcome in outcomes.values())
    lines = [
        "# Robustness",
        "",
        f"Faults survived: {survived} of {len(ROWS)}.",
        "",
        f"`{COMMAND}` made this page by running the tests of the fault table",
        "([rows.yaml](../tests/robustness/rows.yaml)) over real sockets, on "
        f"{os.cpu_count()} cores with {platform.system()}.",
        "Time limits of the server are shorter in the tests where the server has a parameter for them; the limits that",
        "the rows state are checked as its defaults. The columns with measurements describe this run and vary:",
        "time of the row in seconds, longest wait of the healthy client in seconds, change of memory in MB. For the",
        "suite and the load test the last column is the highest memory.",
    ]
    for part, rows in groupby(sorted(ROWS, key=lambda row: list(PARTS).index(row.part)), key=lambda row: row.part):
        lines += ["", f"## {PARTS[part]}", "", NOTES[part], ""]
        lines += ["| row | what is sent | what must hold | outcome | time | wait | memory |", f"|{'---|' * 7}"]
        lines += [render_row(row, outcomes.get(row.number)) for row in rows]
    return "\n".join(lines) + "\n"


def render_row(row: Row, outcome: Mapping[str, Any] | None) -> str:
    """Return one line of the table."""
    result = "not run" if outcome is None else "survived" if outcome["passed"] else "failed"
    measured = outcome or {}
    seconds, gap, memory = (measured.get(name) for name in ("seconds", "gap_s", "memory_bytes"))
    cells = (
        row.number,
        row.sent,
        row.holds,
        result,
        "" if seconds is None else f"{seconds:.0f}",
        "" if gap is None else f"{gap:.1f}",
        "" if memory is None else f"{memory / MEBIBYTE:.0f}",
    )
    return f"| {' | '.join(str(cell) for cell in cells)} |"
