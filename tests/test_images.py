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

from tests.test_pipelines import NARROW, ROOT, environment, offline

if TYPE_CHECKING:
    from pathlib import Path


TARGETS = ("suite", "load", "server")
builds_images = pytest.mark.skipif("CHATPROOF_IMAGES" not in os.environ, reason="takes minutes: run `tox -e images`")


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


@pytest.mark.takes_turns
@pytest.mark.skipif(os.geteuid() != 0, reason="a step sets the owner of a folder")
@pytest.mark.parametrize("target", TARGETS)
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


def run_engine(*words: str, check: bool = True) -> str:
    """Run a command of docker, podman, or the program that CHATPROOF_ENGINE names, and return what it prints."""
    engine = os.environ.get("CHATPROOF_ENGINE") or shutil.which("docker") or "podman"
    return subprocess.run([engine, *words], stdout=subprocess.PIPE, text=True, check=check).stdout.strip()


@builds_images
@pytest.mark.parametrize("target", TARGETS)
def test_an_image_is_built_without_the_history_and_runs_as_a_user_without_rights(target: str) -> None:
    options = os.environ.get("CHATPROOF_BUILD_OPTIONS", "").split()
    run_engine("build", *options, "--target", target, "-t", f"chatproof-test-{target}", str(ROOT))
    image = f"chatproof-test-{target}"
    assert run_engine("run", "--rm", image, "--version").startswith("chatproof, version")
    assert "10001:10001" == run_engine("run", "--rm", "--entrypoint", "sh", image, "-c", "echo $(id -u):$(id -g)")
    assert "" == run_engine("run", "--rm", "--entrypoint", "find", image, "/src", "-name", ".git")


@builds_images
def test_the_image_of_the_suite_checks_that_of_the_server_and_a_stop_ends_the_server_with_0() -> None:
    name = f"chatproof-test-{os.getpid()}"
    limits = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    run_engine("run", "-d", "--name", name, *limits, "chatproof-test-server")
    try:
        check = ["check", "http://127.0.0.1:8000", "--wait", "5m", "--dialect", "mindie", *NARROW.split()]
        shown = run_engine("run", "--rm", "--network", f"container:{name}", "chatproof-test-suite", *check)
        assert "conformant" in shown
        run_engine("stop", "-t", "20", name)
        assert "0" == run_engine("inspect", "--format", "{{.State.ExitCode}}", name)
    finally:
        run_engine("rm", "-f", name, check=False)


def test_no_image_runs_as_root() -> None:
    users = {
        name: [rest for instruction, rest in steps if instruction == "USER"] for name, steps in dockerfile().items()
    }
    assert {"base": [], **{name: ["10001:10001"] for name in TARGETS}} == users


def test_the_services_of_compose_use_targets_and_commands_that_exist() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    owner = services.pop("folder")
    assert {*TARGETS} == {item["build"]["target"] for item in services.values()} == services.keys()
    for service in services.values():
        words = service.get("command", ["serve"])
        shown = subprocess.run(
            [sys.executable, "-m", "chatproof", words[0], "--help"], env=environment(), capture_output=True, text=True
        )
        assert [] == [word for word in words if word.startswith("--") and word not in shown.stdout]
        if "healthcheck" not in service:
            assert owner["volumes"] == service["volumes"]
            assert owner["entrypoint"][1] == service["user"]
            conditions = {name: item["condition"] for name, item in service["depends_on"].items()}
            assert {"server": "service_healthy", "folder": "service_completed_successfully"} == conditions
