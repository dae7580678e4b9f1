"""The suite in pytest: one item per scenario and check, which passes, fails, or fails as expected."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from conformance.tests.faulty_proxy import FaultyProxy, on_answers

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.tests.faulty_proxy import Sent

PATIENCE_S = 120


def add_a_token(_: Sent, answer: dict[str, Any]) -> None:
    """Report one token too many in the sum."""
    answer["usage"]["total_tokens"] += 1


def run_pytest(folder: Path, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest with the suite in a process and a folder of its own."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--pyargs", "conformance.suite"]
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "COLUMNS": "200"}
    return subprocess.run(
        [*command, f"--base-url={url}", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def counts(run: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """The number of items with each outcome, from the last line of pytest."""
    return {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", run.stdout.strip().splitlines()[-1])}


def test_a_correct_server_passes_and_its_reports_are_written(honest: str, tmp_path: Path) -> None:
    run = run_pytest(tmp_path, honest, "--only", "conversation", "--conformance-report", "json=new/results.json")
    content = json.loads((tmp_path / "new" / "results.json").read_text(encoding="utf-8"))
    assert (0, "conformant") == (run.returncode, content["verdict"]), run.stdout
    assert {"passed", "skipped"} >= counts(run).keys()
    assert counts(run)["passed"] > 10


@pytest.mark.parametrize(("waived", "code", "word"), [(False, 1, "failed"), (True, 0, "xfailed")])
def test_items_of_a_violated_requirement_fail_unless_it_is_waived_and_headers_are_sent(
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
    with FaultyProxy(honest, on_answers(sin)) as server:
        run = run_pytest(tmp_path, server.url, "--only", "conversation", "--waivers", "waivers.yaml", "-rfx", *extra)
    assert {("acme", "gate-0123456789")} == seen
    assert "gate-0123456789" not in run.stdout + run.stderr
    assert code == run.returncode, run.stdout
    assert 1 <= counts(run)[word] < counts(run)["passed"]
    assert ("a team" if waived else "MUST usage.total-is-sum") in run.stdout


@pytest.mark.parametrize(
    ("dialect", "code", "line"),
    [
        ("mindie", 3, "nothing listens there; check the host and the port; --wait-for-server TIME"),
        ("no-such", 4, "--dialect: unknown dialect 'no-such'"),
    ],
    ids=["a-dead-server", "an-unknown-dialect"],
)
def test_a_server_that_cannot_be_judged_is_reported_before_any_item(
    tmp_path: Path, dialect: str, code: int, line: str
) -> None:
    run = run_pytest(tmp_path, "http://127.0.0.1:9", "--dialect", dialect)
    output = run.stdout + run.stderr
    assert (code, True, False) == (run.returncode, line in output, "Traceback" in output), output


def test_the_suite_reads_the_configuration_file_and_a_target(honest: str, tmp_path: Path) -> None:
    text = f"""
[check]
only = ["conversation"]
report = ["json=results.json"]

[targets.mine]
url = "{honest}"
dialect = "mindie"
strict = true
users = 5
"""
    (tmp_path / "chatproof.toml").write_text(text, encoding="utf-8")
    run = run_pytest(tmp_path, "@mine", "--conformance-report", "json=given.json")
    content = json.loads((tmp_path / "given.json").read_text(encoding="utf-8"))
    assert (["conversation"], True) == (content["run"]["only"], content["run"]["strict"]), run.stdout
    assert not (tmp_path / "results.json").exists()


@pytest.mark.takes_turns
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[check]\nonli = []", "chatproof.toml: [check]: unknown name 'onli'. Did you mean 'only'?"),
        ("[check]\ndepth = 'deep'", "chatproof.toml: [check] depth: 'deep' is not one of"),
        ("", "unknown target '@none': chatproof.toml has no such target: add a table [targets.none]"),
    ],
)
def test_a_mistake_in_the_file_is_one_line_in_pytest_too(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "chatproof.toml").write_text(text, encoding="utf-8")
    run = run_pytest(tmp_path, "@none")
    assert (4, True) == (run.returncode, expected in run.stderr + run.stdout), run.stderr + run.stdout
    assert "Traceback" not in run.stderr + run.stdout
