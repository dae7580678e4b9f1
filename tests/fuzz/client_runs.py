"""Run `check` and `load` against mutated answers: no internal error, no traceback, and no run beyond its time.

`tox -e fuzz -- clients --responses 20000 --seed 0`
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.fuzz.mutated_server import Mutator, serve_mutated

if TYPE_CHECKING:
    from collections.abc import Sequence

ALLOWED: Final = {"check": (0, 1, 3, 4), "load": (0, 1, 3, 4)}
"""Exit codes of a run that ended as documented; 2 would be our own mistake, and 5 an internal error."""
START_S: Final = 120.0
"""How much longer than its time a run may take on a busy machine, with its start and its reports."""
CHECK_S: Final = 120
LOAD_S: Final = 10


def command_of(kind: str, url: str, model: str, dialect: str, seed: int) -> tuple[list[str], float]:
    """Return the command of a run, and the seconds that it may take."""
    common = [sys.executable, "-m", "chatproof", kind, url, "--dialect", dialect, "--model", model]
    if kind == "check":
        reports = (
            "json=results.json",
            "junit=junit.xml",
            "html=report.html",
            "sarif=report.sarif",
            "markdown=report.md",
        )
        options = [part for report in reports for part in ("--report", report)]
        return [*common, "--timeout", "3", "--max-time", str(CHECK_S), "--concurrency", "8", *options], CHECK_S
    options = ["--users", "8", "--time", f"{LOAD_S}s", "--deadline", "3", "--sample", "1", "--seed", str(seed)]
    return [*common, *options, "--out", "report"], LOAD_S + 30


def run(kind: str, mutator: Mutator, dialect: str, seed: int) -> str | None:
    """Run a command against mutated answers; return what is wrong with its end, or None."""
    with serve_mutated(mutator) as url, tempfile.TemporaryDirectory() as folder:
        command, limit_s = command_of(kind, url, mutator.model, dialect, seed)
        environment = {**os.environ, "COLUMNS": "200"}
        try:
            ended = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, timeout=limit_s + START_S, check=False
            )
        except subprocess.TimeoutExpired:
            return f"it ran longer than {limit_s + START_S:g} s"
        output = (ended.stdout + ended.stderr).decode(errors="replace")
        path = Path(folder, "results.json" if kind == "check" else "report/results.json")
        try:
            results = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            return f"no results ({error}), exit code {ended.returncode}: {output[-1500:]}"
        if ended.returncode not in ALLOWED[kind] or "Traceback" in output:
            return f"exit code {ended.returncode}: {list_errors(results) or output[-1500:]}"
    return None


def list_errors(results: dict[str, Any]) -> str:
    """Return the requirements that ended with an internal error, with their notes and findings, as JSON lines."""
    rows = [row for row in results.get("requirements", ()) if row["outcome"] == "ERROR"]
    return "\n".join(json.dumps({key: row.get(key) for key in ("id", "note", "findings")}) for row in rows)


def main(dialects: Sequence[str], responses: int, seed: int, kinds: Sequence[str] = ("check", "load")) -> int:
    """Run commands until each kind has read enough answers; print a table and the failures."""
    bad = 0
    for kind in kinds:
        done, runs, begun_s, empty = 0, 0, time.monotonic(), 0
        while done < responses and empty < 5:
            dialect = dialects[runs % len(dialects)]
            mutator = Mutator(dialect, seed + runs)
            problem = run(kind, mutator, dialect, seed + runs)
            runs, done = runs + 1, done + mutator.made
            empty = 0 if mutator.made > 20 else empty + 1
            bad += problem is not None
            took_s = time.monotonic() - begun_s
            print(
                f"{kind} --seed {seed + runs - 1} {dialect}: {done} answers in {took_s:.0f} s",
                file=sys.stderr,
                flush=True,
            )
            if problem is not None:
                print(f"{kind} with seed {seed + runs - 1} of {dialect}: {problem}", flush=True)
        print(
            f"{kind:6} {done:6} answers in {runs} runs, {time.monotonic() - begun_s:.0f} s, {bad} bad runs so far",
            flush=True,
        )
    return 1 if bad else 0
