"""The cases of expensive tests take turns: some are run by default, all on request."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TESTS = """\
import pytest

@pytest.mark.parametrize("case", range(10))
def test_always(case): pass

@pytest.mark.takes_turns
@pytest.mark.parametrize("case", range(10))
def test_one(case): pass

@pytest.mark.takes_turns
@pytest.mark.parametrize("case", range(10))
def test_two(case): pass

@pytest.mark.takes_turns
def test_alone(): pass
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with the conftest.py of this one and tests that take turns."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "conftest.py", folder)
    (folder / "test_it.py").write_text(TESTS, encoding="utf-8")
    return folder


def collect(project: Path, *arguments: str, every: str | None = None) -> list[str]:
    """Return the cases that pytest collects."""
    environment = {name: value for name, value in os.environ.items() if name != "CHATPROOF_TEST_EVERY"}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | ({"CHATPROOF_TEST_EVERY": every} if every else {})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]


def test_one_case_in_four_is_run_and_a_test_without_cases_always(project: Path) -> None:
    cases = collect(project)
    counts = {name: sum(case.startswith(name) for case in cases) for name in ("test_always", "test_one", "test_two")}
    assert 10 == counts["test_always"]
    assert {2, 3} >= {counts["test_one"], counts["test_two"]}
    assert "test_alone" in cases
    assert cases == collect(project)


@pytest.mark.parametrize(
    ("arguments", "every"), [([], "1"), (["-k", "test_one or test_two"], None), (["test_it.py::test_one"], None)]
)
def test_all_cases_are_run_on_request_and_if_a_test_is_named(
    project: Path, arguments: list[str], every: str | None
) -> None:
    assert {f"test_one[{case}]" for case in range(10)} <= set(collect(project, *arguments, every=every))
