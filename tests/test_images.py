"""The Dockerfile and compose.yaml: their steps run as shell, no image runs as root, and their commands exist."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.test_pipelines import ROOT, environment, offline

if TYPE_CHECKING:
    from pathlib import Path


def dockerfile() -> dict[str, list[tuple[str, str]]]:
    """The instructions of each stage, with those of the stage on which it is based."""
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text("utf-8"))
    stages: dict[str, list[tuple[str, str]]] = {}
    for line in text.splitlines():
        instruction, _, rest = line.partition(" ")
        if instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            stages[name] = current = list(stages.get(base, ()))
        elif instruction and instruction != "#":
            current.append((instruction, rest))
    return stages


@pytest.mark.skipif(os.geteuid() != 0, reason="a step sets the owner of a folder")
@pytest.mark.parametrize("target", ["suite", "server", "load"])
def test_the_steps_of_the_dockerfile_install_a_target_and_its_command_works(tmp_path: Path, target: str) -> None:
    steps = dockerfile()[target]
    variables = offline(tmp_path) | {
        "SOURCE": str(ROOT),
        "PREFIX": str(tmp_path / "prefix"),
        "WORK": str(tmp_path / "work"),
        "PIP_ARGUMENTS": "",
    }
    done = [
        subprocess.run(["sh", "-ec", step], env=environment(**variables), capture_output=True, text=True, check=True)
        for instruction, step in steps
        if instruction == "RUN"
    ]
    extra = "" if target == "suite" else f"[{target}]"
    assert f"installed: {ROOT}{extra}\n" == done[-1].stdout
    assert 10001 == (tmp_path / "work").stat().st_uid
    (command,) = [json.loads(rest) for instruction, rest in steps if instruction == "CMD"]
    program = [str(tmp_path / "prefix" / "bin" / "python"), "-m", "chatproof", *command, "--help"]
    assert 0 == subprocess.run(program, env=environment(**variables), capture_output=True).returncode


@pytest.mark.skipif(shutil.which("docker") is None, reason="needs docker")
@pytest.mark.skipif(
    subprocess.run(["sh", "-c", "docker info"], capture_output=True).returncode != 0, reason="needs a docker daemon"
)
def test_the_image_of_the_suite_is_built_and_runs() -> None:
    subprocess.run(["docker", "build", "--target", "suite", "-t", "chatproof-test", str(ROOT)], check=True)
    shown = subprocess.run(["docker", "run", "--rm", "chatproof-test", "--version"], capture_output=True, text=True)
    assert shown.stdout.startswith("chatproof, version")


def test_no_image_runs_as_root() -> None:
    users = {
        name: [rest for instruction, rest in steps if instruction == "USER"] for name, steps in dockerfile().items()
    }
    assert {"base": [], **{name: ["10001:10001"] for name in ("suite", "load", "server")}} == users


def test_the_services_of_compose_use_targets_and_commands_that_exist() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    assert {"server", "suite", "load"} == {item["build"]["target"] for item in services.values()} == services.keys()
    for service in services.values():
        words = service.get("command", ["serve"])
        shown = subprocess.run(
            [sys.executable, "-m", "chatproof", words[0], "--help"], env=environment(), capture_output=True, text=True
        )
        assert [] == [word for word in words if word.startswith("--") and word not in shown.stdout]
        assert "healthcheck" in service or {"server": {"condition": "service_healthy"}} == service["depends_on"]
