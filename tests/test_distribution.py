"""The distributions: what they contain, how large they are, and how users are told to install chatproof."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("chatproof/", "openapi/", "conformance/", "reference_server/", "loadtests/")
MOST_WHEEL_MB, MOST_SDIST_MB = 16, 18
MODULES = {"beautifulsoup4": "bs4", "markdown-it-py": "markdown_it", "pyyaml": "yaml"}
"""The modules of distributions that have another name."""
INDIRECT = {"markupsafe", "jsonschema_path", "openapi_schema_validator"}
"""What jinja2 and openapi-core require and hand out."""
UNOWNED = re.compile(
    r"(?:pip install|pipx (?:install|run)|uvx|uv tool (?:install|run)|uv pip install)(?: --?[\w-]+)* [\"']?chatproof\b"
)
"""Commands that would install whatever an index has under the name of this project, which is not published there."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both distributions."""
    if find_spec("hatchling") is None:
        pytest.skip("needs hatchling, of the extra dev")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT, check=True)
    return folder


def tracked() -> set[str]:
    """The files of the repository."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("needs a clone")
    return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}


def test_the_wheel_has_every_file_of_the_packages_and_no_test(built: Path) -> None:
    (path,) = built.glob("*.whl")
    assert path.stat().st_size < MOST_WHEEL_MB * 2**20
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        metadata = wheel.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    content = {name for name in names if ".dist-info/" not in name}
    expected = {name for name in tracked() if name.startswith(PACKAGES) and "/tests/" not in name}
    assert {"chatproof_pytest.py", *expected} == content
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"\nVersion: {project['version']}\n" in metadata
    assert {f"Provides-Extra: {name}" for name in project["optional-dependencies"]} <= set(metadata.splitlines())


def test_the_source_distribution_has_what_is_needed_to_build_and_test(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    assert path.stat().st_size < MOST_SDIST_MB * 2**20
    with tarfile.open(path) as source:
        members = source.getmembers()
    names = {member.name.partition("/")[2] for member in members}
    needed = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "tox.ini", "requirements.lock"}
    tests = {name for name in tracked() if "/tests/" in name or name.startswith("tests/")}
    assert set() == (needed | tests) - names
    assert [] == [name for name in names if name.startswith((".git/", ".ci/", ".tox/"))]
    assert [] == [member.name for member in members if not member.isfile() or ".." in member.name]


def pages() -> Iterator[Path]:
    """Everything that tells users how to install chatproof."""
    for name in sorted(tracked()):
        if name.endswith((".md", ".py", ".yml", ".yaml", ".toml", ".lock", "Jenkinsfile", "Dockerfile")):
            path = ROOT / name
            if path not in (Path(__file__).resolve(), ROOT / "CHANGELOG.md"):
                yield path


def test_no_command_installs_this_project_by_name_from_an_index() -> None:
    found = [f"{path}: {match[0]}" for path in pages() for match in UNOWNED.finditer(path.read_text("utf-8"))]
    assert [] == found


def test_every_installation_in_the_readme_uses_the_clone_or_a_wheel() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    install = text.partition("## Install")[2].partition("\n## ")[0]
    ways = ["python3 -m venv", "pipx install", "uv tool install", "uvx --from", "pipx run --spec"]
    assert ways == [word for word in ways if word in install]


def test_uv_builds_again_after_a_change_of_the_packages() -> None:
    keys = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["uv"]["cache-keys"]
    assert {"git": {"commit": True}} in keys
    matched = {path.relative_to(ROOT).as_posix() for key in keys if "file" in key for path in ROOT.glob(key["file"])}
    sources = {name for name in tracked() if name.startswith(PACKAGES) and name.endswith((".py", ".yaml"))}
    assert set() == sources - matched


def test_dependencies_that_only_tests_import_are_not_installed_for_users() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    plain = {re.split(r"[<>=~;\[ ]", line)[0] for line in project["dependencies"]}
    sources = [
        path.read_text("utf-8")
        for path in map(ROOT.__truediv__, tracked())
        if path.suffix == ".py" and "tests" not in path.parts and path.parent.name not in ("lint", "benchmarks")
    ]
    for name in plain:
        module = MODULES.get(name, name.replace("-", "_"))
        pattern = re.compile(rf"^\s*(?:import|from) {module}\b", re.MULTILINE)
        assert any(pattern.search(text) for text in sources), name


def top_imports(path: Path) -> Iterator[str]:
    """Yield the names of the packages that a module imports when it is loaded."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def test_the_plain_installation_has_everything_that_the_suite_imports() -> None:
    """Without this, an import of the server's packages breaks every command of a user who has not installed them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = {re.split(r"[<>=~;\[ ]", line)[0] for line in project["dependencies"]}
    known = (
        {MODULES.get(name, name.replace("-", "_")) for name in names}
        | INDIRECT
        | {name.removesuffix("/") for name in PACKAGES}
    )
    for path in map(ROOT.__truediv__, tracked()):
        parts = path.relative_to(ROOT).parts
        if path.suffix == ".py" and parts[0] in ("openapi", "conformance") and "tests" not in parts:
            assert set() == set(top_imports(path)) - known - sys.stdlib_module_names, path
