"""A package of a vendor, installed from a wheel: its dialect, check, scenario and counterexample; and other plugins.

The wheel is installed without its dependencies into a folder on the path, as a package of an environment is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
EXAMPLE: Final = ROOT / "docs" / "examples" / "acme"
PATIENCE_S: Final = 300
ENTRY_POINTS: Final = """\
[chatproof.dialects]
acme = acme_chatproof:DIALECT
broken = acme_chatproof:NOTHING
[chatproof.checks]
acme-checks = acme_chatproof:CHECKS
[chatproof.scenarios]
acme-scenarios = acme_chatproof:SCENARIOS
"""
MODULE: Final = """\
from pathlib import Path

FOLDER = Path(__file__).parent
DIALECT, CHECKS, SCENARIOS = FOLDER / "acme.yaml", FOLDER / "checks.py", FOLDER / "scenarios.yaml"
"""
OTHER_DIALECT: Final = """\
id: other
title: A dialect that uses the checks and scenarios of an installed package
document: none
extends: openai
checks: [acme-checks]
scenarios: [acme-scenarios]
add:
  requirements/acme.model-echoed: {keyword: MUST, source: "#response/model"}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the wheel of the vendor is installed."""
    folder = tmp_path_factory.mktemp("vendor")
    wheel, target = folder / "acme_chatproof-1.0-py3-none-any.whl", folder / "site"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("acme_chatproof/__init__.py", MODULE)
        archive.writestr("acme_chatproof/scenarios.yaml", "- {id: acme-hi, summary: a greeting, steps: [{ask: Hi}]}\n")
        for name in ("acme.yaml", "checks.py"):
            archive.write(EXAMPLE / name, f"acme_chatproof/{name}")
        info = "acme_chatproof-1.0.dist-info"
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: acme-chatproof\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", ENTRY_POINTS)
        archive.writestr(f"{info}/RECORD", "")
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", str(target), str(wheel)]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
    return target


def run(folder: Path, command: list[str], *paths: Path) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, with our packages and further folders on its path."""
    path = os.pathsep.join(map(str, (*paths, ROOT, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))))
    return subprocess.run(
        [sys.executable, "-P", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "PYTEST_ADDOPTS": "", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_an_installed_dialect_with_its_check_passes_dialect_check(installed: Path, tmp_path: Path) -> None:
    done = run(tmp_path, ["-m", "chatproof", "dialect", "check", "acme", "--depth", "quick"], installed)
    assert (0, "acme: ok") == (done.returncode, done.stdout.strip().splitlines()[-1]), done.stdout + done.stderr


def test_another_file_uses_installed_checks_and_scenarios_by_name(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(OTHER_DIALECT)
    arguments = ["-m", "chatproof", "check", "--dialect", "./other.yaml", "--only", "acme*", "--dry-run"]
    done = run(tmp_path, arguments, installed)
    assert 0 == done.returncode, done.stderr
    assert "acme-hi" in done.stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("acne", "Did you mean 'acme'?"),
        ("broken", "entry point broken of chatproof.dialects (acme_chatproof:NOTHING): cannot be imported: Attribute"),
    ],
)
def test_a_wrong_name_of_an_installed_dialect_is_one_line(
    name: str, message: str, installed: Path, tmp_path: Path
) -> None:
    done = run(tmp_path, ["-m", "chatproof", "spec", "trace", "--dialect", name], installed)
    (line,) = done.stderr.strip().splitlines()
    assert (2, True) == (done.returncode, message in line), line


CONFTEST: Final = """\
def pytest_addoption(parser):
    parser.addoption("--model", default="theirs")
    parser.addoption("--dialect", default="theirs")
"""
BASE_URL_PLUGIN: Final = """\
def pytest_addoption(parser):
    parser.addoption("--base-url")
"""
WITH_BASE_URL: Final = () if find_spec("pytest_base_url") else ("-p", "base_url_plugin")
"""The real plugin is loaded where it is installed."""
THEIR_TEST: Final = """\
import openapi, conformance

def test_theirs(request):
    assert (openapi.THEIRS, conformance.THEIRS) == (True, True)
    assert request.config.getoption("--model") == "theirs"
    assert not hasattr(request.config.option, "chatproof_model")
"""
OUR_TEST: Final = """\
def test_ours(chatproof_check, request):
    assert request.config.getoption("--model") == "theirs"
    assert request.config.getoption("chatproof_model") == "ours"
    import chatproof
    assert chatproof_check is chatproof.check
    assert issubclass(chatproof.UsageError, Exception)
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with packages of our names, and a conftest with options of our names."""
    for name in ("openapi", "conformance"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("THEIRS = True\n")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with metadata of this version of the project, whatever version is installed."""
    folder = tmp_path_factory.mktemp("plugin")
    info = folder / "chatproof-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: chatproof\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[pytest11]\nchatproof = chatproof_pytest\n")
    (folder / "base_url_plugin.py").write_text(BASE_URL_PLUGIN)
    return folder


def test_the_plugin_leaves_a_repository_with_packages_and_options_of_our_names_alone(
    repository: Path, plugin: Path
) -> None:
    (repository / "test_theirs.py").write_text(THEIR_TEST)
    done = run(repository, ["-m", "pytest", "-q", *WITH_BASE_URL], plugin)
    assert 0 == done.returncode, done.stdout + done.stderr


def test_requested_options_and_the_fixture_work_next_to_those_of_others(repository: Path, plugin: Path) -> None:
    (repository / "test_ours.py").write_text(OUR_TEST)
    arguments = ["-m", "pytest", "-q", *WITH_BASE_URL, "-p", "chatproof", "--chatproof-model", "ours"]
    done = run(repository, arguments, plugin)
    assert 0 == done.returncode, done.stdout + done.stderr


BROWSER_TEST: Final = """\
def test_ours(chatproof_check, base_url, request):
    assert base_url == "http://theirs.test"
    assert request.config.getoption("--browser") == ["firefox"]
    assert request.config.getoption("chatproof_model") == "ours"
    import chatproof
    assert chatproof_check is chatproof.check
"""


def test_the_plugins_of_playwright_and_base_urls_work_next_to_ours(repository: Path, plugin: Path) -> None:
    for name in ("pytest_base_url", "pytest_playwright"):
        pytest.importorskip(name, reason=f"{name} is not installed: run tox -e plugins")
    (repository / "test_ours.py").write_text(BROWSER_TEST)
    others = ["--base-url", "http://theirs.test", "--browser", "firefox"]
    for ours in (["-p", "chatproof", "--chatproof-model", "ours"], ["--chatproof-model", "ours"]):
        done = run(repository, ["-m", "pytest", "-q", *others, *ours], plugin)
        assert (0, True) == (done.returncode, "1 passed" in done.stdout), done.stdout + done.stderr


def test_the_suite_runs_in_a_repository_with_packages_of_our_names(repository: Path, plugin: Path) -> None:
    shutil.copytree(EXAMPLE, repository / "acme")
    arguments = ["-m", "pytest", "-q", "--pyargs", "conformance.suite", "--chatproof-dialect", "acme/acme.yaml"]
    done = run(repository, [*arguments, "--only", "acme.model-echoed"], plugin)
    assert (0, True) == (done.returncode, " passed" in done.stdout), done.stdout + done.stderr
