"""Run `chatproof check` and `chatproof load` as a user does, and assert what must hold whatever a server sends."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote
from xml.etree import ElementTree

from tests.robustness.reference_process import KEY, child_environment
from tests.robustness.resources import MEBIBYTE, peak_rss
from tests.robustness.wire import MODEL

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

REPORTS: Final = {
    "json": "results.json",
    "junit": "junit.xml",
    "markdown": "summary.md",
    "html": "report.html",
    "sarif": "report.sarif",
    "badge": "badge.svg",
}
PARSERS: Final = {
    ".json": lambda text: json.loads(text),
    ".sarif": lambda text: json.loads(text),
    ".xml": ElementTree.fromstring,
    ".svg": ElementTree.fromstring,
    ".html": lambda text: HTMLParser().feed(text),
    ".md": len,
    ".csv": len,
}
KEY_VARIABLE: Final = "CANARY_KEY"
MOST_BYTES: Final = 256 * MEBIBYTE
MAX_TIME_S: Final = 120.0
START_S: Final = 180.0
"""What the start of a process and its reports may take on a busy machine, in addition to the limits of the run."""
DIALECT: Final = "mindie-2.3"
ENCODED: Final = (
    KEY,
    quote(KEY),
    base64.b64encode(KEY.encode()).decode().rstrip("="),
    KEY.encode().hex(),
    KEY.swapcase(),
)


@dataclass(frozen=True)
class SuiteRun:
    """One finished command."""

    code: int
    output: str
    folder: Path
    seconds: float
    peak_bytes: int

    @cached_property
    def texts(self) -> dict[str, str]:
        """Every file that the command wrote, by its name."""
        files = (path for path in sorted(self.folder.rglob("*")) if path.is_file())
        return {path.name: path.read_text(encoding="utf-8") for path in files}

    @property
    def results(self) -> dict[str, Any]:
        """The content of results.json."""
        content: dict[str, Any] = json.loads(self.texts["results.json"])
        return content

    @property
    def failed(self) -> str:
        """The rows with outcome FAIL, or the failures of a load test, as text."""
        results = self.results
        if "requirements" in results:
            return json.dumps([row for row in results["requirements"] if row["outcome"] == "FAIL"], ensure_ascii=False)
        return json.dumps(results["failures"], ensure_ascii=False)


def run(folder: Path, *arguments: str, limit_s: float = 30.0, **variables: str) -> SuiteRun:
    """Run a command to its end; assert its deadline, its memory, its reports, and that the key is in no output."""
    folder.mkdir(exist_ok=True)
    environment = {**child_environment(folder), KEY_VARIABLE: KEY, **variables}
    log = folder / "output.txt"
    started, peak = time.monotonic(), 0
    with log.open("w") as output:
        command = [sys.executable, "-m", "chatproof", *arguments]
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            while process.poll() is None:
                assert time.monotonic() - started < limit_s + START_S, log.read_text()
                peak = max(peak, peak_rss(process.pid))
                time.sleep(0.02)
        finally:
            process.kill()
            process.wait()
    text = log.read_text(encoding="utf-8")
    log.unlink()
    done = SuiteRun(process.returncode, text, folder, time.monotonic() - started, peak)
    _assert_bounded(done)
    return done


def _assert_bounded(done: SuiteRun) -> None:
    assert done.code in (0, 1, 3, 4), done.output
    assert "Traceback" not in done.output, done.output
    assert 0 < done.peak_bytes <= MOST_BYTES, done.peak_bytes
    for name, text in (*done.texts.items(), ("output", done.output)):
        for form in ENCODED:
            assert form not in text, f"{name} has the key"
        if name != "output":
            PARSERS["." + name.rpartition(".")[2]](text)


def check(
    folder: Path, url: str, *options: str, timeout_s: float = 5.0, variables: Mapping[str, str] | None = None
) -> SuiteRun:
    """Judge a server with a few requests, and write every kind of report."""
    reports = [word for kind, name in REPORTS.items() for word in ("--report", f"{kind}={name}")]
    limits = ("--timeout", str(timeout_s), "--max-time", str(MAX_TIME_S), "--api-key-env", KEY_VARIABLE)
    words = ("check", url, "--dialect", DIALECT, "--model", MODEL, *limits, *reports, *options)
    return run(folder, *words, limit_s=MAX_TIME_S + 10, **(variables or {}))


def load_test(folder: Path, url: str, *options: str, time_s: float = 1.0, deadline_s: float = 1.0) -> SuiteRun:
    """Load-test a server for a moment."""
    limits = ("--time", f"{time_s}s", "--warm-up", "0s", "--deadline", str(deadline_s), "--users", "4")
    words = ("load", "run", url, "--dialect", DIALECT, "--model", MODEL, "--out", str(folder))
    return run(folder, *words, *limits, "--api-key-env", KEY_VARIABLE, *options)
