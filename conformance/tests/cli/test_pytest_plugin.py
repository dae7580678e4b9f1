"""The pytest face of the suite: an item for each scenario and check, which passes, fails or is excused as it should."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from conformance.tests.faulty_proxy import Sinner, on_answers

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.tests.faulty_proxy import Sent

PATIENCE_S = 120


def add_a_token(_: Sent, answer: dict[str, Any]) -> None:
    """One token too many in the sum."""
    answer["usage"]["total_tokens"] += 1


def pytested(folder: Path, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One run of pytest over the suite, in a process and a folder of its own."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--pyargs", "conformance.suite"]
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "COLUMNS": "200"}
    return subprocess.run(
        [*command, "--base-url", url, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def counts(run: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """How many items came to each outcome, by pytest's last line."""
    return {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", run.stdout.strip().splitlines()[-1])}


def test_an_honest_server_passes_and_its_reports_are_written(honest: str, tmp_path: Path) -> None:
    run = pytested(tmp_path, honest, "--only", "conversation", "--conformance-report", "json=new/results.json")
    found = json.loads((tmp_path / "new" / "results.json").read_text(encoding="utf-8"))
    assert (0, "conformant") == (run.returncode, found["verdict"]), run.stdout
    assert {"passed", "skipped"} >= counts(run).keys()
    assert counts(run)["passed"] > 10


@pytest.mark.parametrize(("waived", "code", "word"), [(False, 1, "failed"), (True, 0, "xfailed")])
def test_items_of_a_broken_requirement_fail_unless_it_is_waived_and_headers_are_sent(
    honest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waived: bool, code: int, word: str
) -> None:
    seen: set[tuple[str | None, ...]] = set()

    def sin(sent: Sent, answer: dict[str, Any]) -> None:
        seen.add(tuple(sent.headers.get(name) for name in ("x-tenant", "api-key")))
        add_a_token(sent, answer)

    monkeypatch.setenv("GATE", "gate-0123456789")
    (tmp_path / "waivers.yaml").write_text(
        "- {id: usage.total-is-sum, reason: a ticket, owner: a team, expires: 2999-01-01}\n" if waived else "[]\n"
    )
    extra = ("--header", "X-Tenant: acme", "--header-env", "api-key=GATE")
    with Sinner(honest, on_answers(sin)) as server:
        run = pytested(tmp_path, server.url, "--only", "conversation", "--waivers", "waivers.yaml", "-rfx", *extra)
    assert {("acme", "gate-0123456789")} == seen
    assert "gate-0123456789" not in run.stdout + run.stderr
    assert code == run.returncode, run.stdout
    assert 1 <= counts(run)[word] < counts(run)["passed"]
    assert ("a team" if waived else "MUST usage.total-is-sum") in run.stdout


@pytest.mark.parametrize(
    ("dialect", "code", "line"),
    [("mindie", 3, "nothing listens there; --wait-for-server S"), ("nobody", 4, "--dialect 'nobody' is unknown")],
    ids=["a-dead-server", "an-unknown-dialect"],
)
def test_what_cannot_be_judged_is_told_before_any_item(tmp_path: Path, dialect: str, code: int, line: str) -> None:
    run = pytested(tmp_path, "http://127.0.0.1:9", "--dialect", dialect)
    said = run.stdout + run.stderr
    assert (code, True, False) == (run.returncode, line in said, "Traceback" in said), said
