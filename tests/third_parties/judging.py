"""Run `chatproof check` on a server and read its results file."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tests.third_parties.catalogue import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

RUN_S: Final = 3000.0
"""The longest that a run may take on a busy machine."""
REPORTED: Final = frozenset({"FAIL", "WARN", "ERROR"})
JUDGED_EXITS: Final = (0, 1, 4)
"""Exit codes with a verdict: conformant, nonconformant, and ended early, for example because the server died."""
REQUIRED: Final = "MUST"
UNTESTABLE: Final = "UNTESTABLE"


class NotJudgedError(Exception):
    """`chatproof check` ended without a verdict; the message is its last line."""


@dataclass(frozen=True, slots=True)
class CitedRequest:
    """A request that a finding cites, as it was sent, and the text of the recorded answer."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: str | None
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One requirement that a server violates according to the suite."""

    requirement: str
    outcome: str
    keyword: str
    claim: str
    findings: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The results of one run.

    requests: the requests that the findings cite, by the name of their exchange, as far as the file has them.
    """

    dialect: str
    verdict: str
    exit_code: int
    counts: Mapping[str, int]
    sent: int
    rows: tuple[Row, ...]
    untestable: tuple[str, ...]
    requests: Mapping[str, CitedRequest]

    def at(self, url: str) -> Judgement:
        """Return the judgement with the cited requests moved to another address of the same server."""
        moved = {
            name: replace(request, url=re.sub(r"^http://[^/]+", url, request.url))
            for name, request in self.requests.items()
        }
        return replace(self, requests=moved)

    def count(self, outcome: str) -> int:
        """Return how many requirements have an outcome."""
        return self.counts.get(outcome, 0)


def earlier(folder: Path, name: str) -> Judgement | None:
    """Return the judgement whose results file is in the folder, if there is one."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    results = json.loads(path.read_text(encoding="utf-8"))
    return read_results(results, int(any(row["fails"] for row in results["requirements"])))


def judge(url: str, dialect: str, model: str, folder: Path, name: str) -> Judgement:
    """Judge a server by a dialect; the results file is kept in the folder.

    Raises NotJudgedError.
    """
    path = folder / f"{name}.json"
    path.unlink(missing_ok=True)
    command = [sys.executable, "-m", "chatproof", "check", url, "--dialect", dialect, "--model", model]
    command += ["--report", f"json={path}"]
    try:
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=RUN_S)
    except subprocess.TimeoutExpired as error:
        raise NotJudgedError(f"no verdict within {RUN_S:.0f} s") from error
    if ended.returncode not in JUDGED_EXITS or not path.exists():
        lines = (ended.stderr or ended.stdout).strip().splitlines()
        raise NotJudgedError(f"exit {ended.returncode}: {(lines or ['no output'])[-1][:300]}")
    return read_results(json.loads(path.read_text(encoding="utf-8")), ended.returncode)


def read_results(results: Mapping[str, Any], exit_code: int) -> Judgement:
    """Return the judgement that a results file contains."""
    requirements = results["requirements"]
    return Judgement(
        dialect=results["target"]["dialect"],
        verdict=results["verdict"],
        exit_code=exit_code,
        counts=results["counts"],
        sent=results["run"]["requests"],
        rows=tuple(
            Row(row["id"], row["outcome"], row["keyword"], row["summary"], tuple(row["findings"]))
            for row in requirements
            if row["outcome"] in REPORTED
        ),
        untestable=tuple(
            row["id"] for row in requirements if row["outcome"] == UNTESTABLE and row["keyword"] == REQUIRED
        ),
        requests=_cited(results["exchanges"]),
    )


def _cited(exchanges: Iterable[Mapping[str, Any]]) -> dict[str, CitedRequest]:
    return {
        exchange["id"]: CitedRequest(
            method=exchange["request"]["method"],
            url=exchange["request"]["url"],
            headers=tuple((name, value) for name, value in exchange["request"]["headers"]),
            body=exchange["request"]["body"],
            answer=_text(exchange.get("response") or {}),
        )
        for exchange in exchanges
    }


def _text(response: Mapping[str, Any]) -> str:
    return "".join(text for _, text in response.get("segments", ()) if isinstance(text, str))


def reported_status(finding: Mapping[str, Any]) -> int | None:
    """Return the status with which a finding says the server answered, if it says that."""
    match = re.match(r"(\d{3})\b", str(finding["got"]))
    return int(match[1]) if match else None
