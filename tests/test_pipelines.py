"""The steps of action.yml, and of ci/, run as shell, against a good and a bad server."""

from __future__ import annotations

import json
import os
import re
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
    (step,) = (step for step in action["runs"]["steps"] if step.get("id") == "check")
    values = {
        name: given[value[len("${{ inputs.") : -len(" }}")]] if value.startswith("${{") else value
        for name, value in step["env"].items()
    }
    files = {name: str(folder / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=folder, env=environment(**values, **files), capture_output=True, text=True)


@pytest.mark.takes_turns
@pytest.mark.parametrize("code", [0, 1, 3])
def test_the_action_ends_with_the_exit_code_of_the_check_and_writes_reports(
    servers: dict[int, str], tmp_path: Path, code: int
) -> None:
    inputs = {"url": servers[code], "dialect": "mindie", "arguments": NARROW, "python": sys.executable}
    inputs |= {"annotate": "server.yaml"}
    done = run_action(tmp_path, inputs)
    assert code == done.returncode, done.stdout + done.stderr
    verdict = {0: "conformant", 1: "nonconformant", 3: "inconclusive"}[code]
    outputs = (tmp_path / "GITHUB_OUTPUT").read_text().splitlines()
    folder = "chatproof-report"
    paths = [f"results={folder}/results.json", f"sarif={folder}/chatproof.sarif"]
    assert [f"exit-code={code}", f"verdict={verdict}", *paths] == outputs
    summary = (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    assert summary.startswith(f"# chatproof: {verdict}")
    assert "## All requirements" not in summary
    assert {
        *("results.json", "chatproof.xml", "page.html", "chatproof.sarif", "summary.md", "annotations.txt", "log.txt")
    } == {path.name for path in (tmp_path / folder).iterdir()}
    commands = [line for line in done.stdout.splitlines() if line.startswith("::")]
    expected = {0: [], 1: ["FAIL MUST stream.done-last"], 3: ["the run ended early"]}[code]
    assert [f"::error file=server.yaml,title={title}" for title in expected] == [
        line.rpartition("::")[0] for line in commands
    ]


def test_the_problem_matcher_finds_failures_and_errors_in_the_output_of_a_run(servers: dict[int, str]) -> None:
    matchers = json.loads((ROOT / "ci" / "problem-matcher.json").read_text("utf-8"))["problemMatcher"]
    found: dict[int, set[str]] = {}
    for code, url in servers.items():
        command = [sys.executable, "-m", "chatproof", "check", url, "--dialect", "mindie", *NARROW.split()]
        done = subprocess.run(
            [*command, "--report", f"json={os.devnull}"], env=environment(), capture_output=True, text=True
        )
        lines = (done.stdout + done.stderr).splitlines()
        found[code] = {
            item["owner"] for item in matchers for line in lines if re.search(item["pattern"][0]["regexp"], line)
        }
    assert {0: set(), 1: {"chatproof-failure"}, 3: {"chatproof-error"}} == found


def test_the_action_runs_nothing_of_its_inputs(tmp_path: Path) -> None:
    hostile = "$(touch owned) `touch owned`; touch owned"
    inputs = {"url": hostile, "dialect": hostile, "arguments": "$(touch${IFS}owned)", "python": sys.executable}
    assert 2 == run_action(tmp_path, inputs).returncode
    assert not (tmp_path / "owned").exists()
    text = (ROOT / "action.yml").read_text("utf-8")
    steps = yaml.safe_load(text)["runs"]["steps"]
    assert [] == [step["name"] for step in steps if "${{" in step.get("run", "")]


@pytest.mark.takes_turns
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


@pytest.mark.takes_turns
@pytest.mark.parametrize("code", [0, 1])
def test_the_step_of_jenkins_ends_with_the_exit_code_of_the_check(
    servers: dict[int, str], tmp_path: Path, code: int
) -> None:
    text = (ROOT / "ci" / "Jenkinsfile").read_text("utf-8")
    script = re.search(r"sh '''\n(.*?)'''", text, re.DOTALL)
    assert script is not None
    folder = re.search(r"FOLDER = '(.*)'", text)
    assert folder is not None
    variables = {"URL": servers[code], "INSTALL": str(ROOT), "FOLDER": folder[1], "CHATPROOF_DIALECT": "mindie"}
    variables |= {"CHATPROOF_ONLY": "stream.done-last", **offline(tmp_path)}
    done = subprocess.run(
        ["sh", "-xe", "-c", script[1]], cwd=tmp_path, env=environment(**variables), capture_output=True, text=True
    )
    assert code == done.returncode, done.stdout + done.stderr
    for pattern in re.findall(r"(?:testResults|artifacts): '(.*?)'", text):
        assert list(tmp_path.glob(pattern)), pattern


def offline(folder: Path) -> dict[str, str]:
    """Variables with which `pip install` of an environment in this folder installs nothing, as all of it is there."""
    site = folder / "site"
    (site / "pip").mkdir(parents=True)
    (site / "pip" / "__init__.py").touch()
    (site / "pip" / "__main__.py").write_text("import sys\nprint('installed:', sys.argv[-1])\n", encoding="utf-8")
    python = folder / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    places = [site, ROOT, *(Path(place) for place in sys.path if place.endswith("site-packages"))]
    return {"PYTHONPATH": os.pathsep.join(map(str, places)), "PATH": path}


@pytest.mark.takes_turns
@pytest.mark.parametrize(("hook", "bad"), [("chatproof-dialect", "id: [\n"), ("chatproof-config", "[check]\nx = 1\n")])
def test_the_hooks_of_pre_commit_accept_a_valid_file_and_refuse_an_invalid_one(
    tmp_path: Path, hook: str, bad: str
) -> None:
    (item,) = [
        item for item in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")) if item["id"] == hook
    ]
    program = tmp_path / "chatproof"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m chatproof "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    files = {"chatproof-dialect": "dialects/acme.yaml", "chatproof-config": "chatproof.toml"}
    good = {
        "chatproof-dialect": "id: acme\ntitle: Acme\ndocument: none\nextends: openai\n",
        "chatproof-config": "[check]\nstrict = true\n",
    }
    path = tmp_path / files[hook]
    path.parent.mkdir(exist_ok=True)
    codes = []
    for text in (good[hook], bad):
        path.write_text(text, encoding="utf-8")
        names = [files[hook]] if item.get("pass_filenames", True) else []
        assert re.search(item["files"], files[hook])
        command = f"{item['entry']} {' '.join(names)}"
        variables = environment(PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        codes.append(subprocess.run(["sh", "-c", command], cwd=tmp_path, env=variables, capture_output=True).returncode)
    assert [0, 2] == codes
