"""The steps of action.yml and ci/gitlab.yml run as shell against a good and a bad server."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
import yaml

from conformance.report.results_file import read_results

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
NARROW = "--only stream.done-last --max-time 5m"


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """Serve the embedded model, and yield its address."""
    command = [sys.executable, "-m", "chatproof", "serve", "--dialect", "mindie", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


def environment(**variables: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **variables}


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[int, str]]:
    """A good and a bad server, by the exit code of a check."""
    with serving() as good, serving("--fault", "omits-done") as bad:
        yield {0: good, 1: bad, 3: "http://127.0.0.1:9"}


def run_action(folder: Path, inputs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the step of the action that checks a server, with its default inputs and these."""
    action: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    given = {name: item.get("default", "") for name, item in action["inputs"].items()} | inputs
    step = action["runs"]["steps"][-1]
    values = {name: given[value[len("${{ inputs.") : -len(" }}")]] for name, value in step["env"].items()}
    files = {name: str(folder / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=folder, env=environment(**values, **files), capture_output=True, text=True)


@pytest.mark.parametrize("code", [0, 1, 3])
def test_the_action_ends_with_the_exit_code_of_the_check_and_writes_reports(
    servers: dict[int, str], tmp_path: Path, code: int
) -> None:
    inputs = {"url": servers[code], "dialect": "mindie", "arguments": NARROW, "python": sys.executable}
    done = run_action(tmp_path, inputs)
    assert code == done.returncode, done.stdout + done.stderr
    assert f"exit-code={code}\n" == (tmp_path / "GITHUB_OUTPUT").read_text()
    assert "# chatproof: " in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    names = {path.name for path in (tmp_path / "chatproof-report").iterdir()}
    assert {"results.json", "chatproof.xml", "page.html", "chatproof.sarif", "summary.md"} == names


def test_the_action_runs_nothing_of_its_inputs(tmp_path: Path) -> None:
    hostile = "$(touch owned) `touch owned`; touch owned"
    inputs = {"url": hostile, "dialect": hostile, "arguments": "$(touch${IFS}owned)", "python": sys.executable}
    assert 2 == run_action(tmp_path, inputs).returncode
    assert not (tmp_path / "owned").exists()
    text = (ROOT / "action.yml").read_text("utf-8")
    steps = yaml.safe_load(text)["runs"]["steps"]
    assert [] == [step["name"] for step in steps if "${{" in step["run"]]


@pytest.mark.parametrize("code", [0, 1])
def test_the_job_of_gitlab_ends_with_the_exit_code_of_the_check(
    servers: dict[int, str], tmp_path: Path, code: int
) -> None:
    job = yaml.safe_load((ROOT / "ci" / "gitlab.yml").read_text("utf-8"))[".chatproof"]
    variables = job["variables"] | {
        "CHATPROOF_URL": servers[code],
        "CHATPROOF_PYTHON": sys.executable,
        "CHATPROOF_INSTALL": "",
        "CHATPROOF_DIALECT": "mindie",
        "CHATPROOF_ONLY": "stream.done-last",
    }
    script = "\n".join(job["script"])
    command = ["bash", "-e", "-o", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=environment(**variables), capture_output=True, text=True)
    assert code == done.returncode, done.stdout + done.stderr
    junit = job["artifacts"]["reports"]["junit"].replace("$CHATPROOF_FOLDER", job["variables"]["CHATPROOF_FOLDER"])
    failures = ElementTree.parse(tmp_path / junit).getroot().get("failures")
    assert str(code) == failures
    results = read_results(tmp_path / job["variables"]["CHATPROOF_FOLDER"] / "results.json")
    assert ["stream.done-last"] == results["run"]["only"]
