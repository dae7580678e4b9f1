"""The distribution: installed size, lazy imports, and package names that no other distribution uses."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from importlib.metadata import distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("openapi", "conformance", "reference_server")
HEAVY = {"torch", "transformers", "fastapi", "uvicorn", "locust"}
MOST_MB = 110


def plain_closure() -> dict[str, int]:
    """Return every distribution of the plain installation, with its size in bytes."""
    waiting = ["chatproof"]
    sizes: dict[str, int] = {}
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in sizes:
            continue
        this = distribution(name)
        files = [Path(str(file.locate())) for file in this.files or ()]
        sizes[name] = sum(path.stat().st_size for path in files if path.is_file())
        for text in this.requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    for package in PACKAGES:
        sizes["chatproof"] += sum(path.stat().st_size for path in (ROOT / package).rglob("*") if path.is_file())
    return sizes


def test_the_plain_installation_needs_no_torch_and_stays_small() -> None:
    closure = plain_closure()
    assert set() == HEAVY & closure.keys()
    assert sum(closure.values()) / 2**20 < MOST_MB


@pytest.mark.parametrize("package", PACKAGES)
def test_no_installed_package_shadows_a_package_of_ours(package: str) -> None:
    location = importlib.import_module(package).__file__
    assert location is not None
    others = {
        owner.metadata["Name"]
        for owner in distributions()
        if any(str(file) == f"{package}/__init__.py" for file in owner.files or ())
    }
    assert others - {"chatproof"} == set()


def test_the_help_imports_no_package_of_ours() -> None:
    script = (
        "import sys, json, chatproof\n"
        "chatproof.main(['--help'], standalone_mode=False)\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = set(json.loads(shown.stdout.splitlines()[-1]))
    assert "check" in shown.stdout
    assert set() == loaded & {*PACKAGES, *HEAVY, "rich", "httpx", "yaml", "pytest"}


def test_the_torch_series_is_pinned() -> None:
    requires = [Requirement(text) for text in distribution("chatproof").requires or ()]
    pins = {str(require.specifier) for require in requires if require.name == "torch"}
    assert pins == {"==2.13.0"}
