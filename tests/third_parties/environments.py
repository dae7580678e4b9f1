"""Environments in which the software of other projects is installed, once for each list of packages."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from dataclasses import asdict, dataclass
from email.parser import Parser
from typing import TYPE_CHECKING, Final

from packaging.requirements import Requirement

from tests.third_parties.catalogue import CHECKPOINT, HERE, constraint

if TYPE_CHECKING:
    from pathlib import Path

    from tests.third_parties.catalogue import Software, Stripped

INSTALL_S: Final = 1800.0
MARK: Final = "installed.json"


class NotInstalledError(Exception):
    """Software could not be installed; the message is one line."""


@dataclass(frozen=True, slots=True)
class Environment:
    """An installed environment: its folder, and the version of the package that is reported."""

    folder: Path
    version: str

    def expand(self, text: str, **values: str) -> str:
        """Replace the placeholders of a command."""
        return expand(text, self.folder, **values)


def expand(text: str, folder: Path, **values: str) -> str:
    """Replace the placeholders of a command that servers.yaml lists."""
    places = {
        "folder": str(folder),
        "bin": str(folder / "venv" / "bin"),
        "python": str(folder / "venv" / "bin" / "python"),
        "node_modules": str(folder / "node_modules"),
        "data": str(HERE / "servers"),
        "clients": str(HERE / "clients"),
        "checkpoint": str(CHECKPOINT),
    }
    for name, value in {**places, **values}.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def install(software: Software, work: Path) -> Environment:
    """Install software into a folder of its own, unless the same list of packages is already there.

    Raises NotInstalledError.
    """
    folder = work / software.name
    wanted = hashlib.sha256(json.dumps([asdict(software), constraint()]).encode()).hexdigest()
    mark = folder / MARK
    if mark.exists():
        found = json.loads(mark.read_text(encoding="utf-8"))
        if found["digest"] == wanted:
            return Environment(folder, found["version"])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if software.environment == "npm":
        _install_npm(software, folder)
    else:
        _install_python(software, folder)
    for command in software.prepare:
        _run(shlex.split(expand(command, folder)), folder)
    version = _version(software, folder)
    mark.write_text(json.dumps({"digest": wanted, "version": version}), encoding="utf-8")
    return Environment(folder, version)


def _install_npm(software: Software, folder: Path) -> None:
    if shutil.which("npm") is None:
        raise NotInstalledError("npm is missing")
    _run(["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", *software.packages], folder)


def _install_python(software: Software, folder: Path) -> None:
    _run([sys.executable, "-m", "venv", str(folder / "venv")], folder)
    (folder / "constraints.txt").write_text(f"{constraint()}\n", encoding="utf-8")
    if software.packages:
        _pip(folder, *software.packages)
    if software.without is not None:
        _install_stripped(software.without, folder)


def _install_stripped(stripped: Stripped, folder: Path) -> None:
    """Install a package without some of its dependencies, and copy its metadata if another name is needed."""
    _run([_python(folder), "-m", "pip", "download", "--no-deps", "-d", str(folder / "wheel"), stripped.package], folder)
    wheel = next((folder / "wheel").glob("*.whl"))
    kept = [text for text in _requirements(wheel) if Requirement(text).name not in stripped.dependencies]
    _pip(folder, *kept)
    _pip(folder, "--no-deps", str(wheel))
    shutil.rmtree(folder / "wheel")
    if stripped.alias is not None:
        name, version = stripped.package.split("==")
        (source,) = (folder / "venv").glob(f"lib/*/site-packages/{name.replace('-', '_')}-{version}.dist-info")
        target = source.with_name(f"{stripped.alias}-{version}.dist-info")
        shutil.copytree(source, target)
        metadata = target / "METADATA"
        text = metadata.read_text(encoding="utf-8")
        metadata.write_text(re.sub(r"^Name: .*$", f"Name: {stripped.alias}", text, count=1, flags=re.M), "utf-8")


def _requirements(wheel: Path) -> list[str]:
    """Return the requirements of a wheel that apply here, without those of its extras."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        headers = Parser().parsestr(archive.read(name).decode("utf-8"))
    texts = headers.get_all("Requires-Dist") or []
    return [text for text in texts if (marker := Requirement(text).marker) is None or marker.evaluate({"extra": ""})]


def _pip(folder: Path, *packages: str) -> None:
    constraints = str(folder / "constraints.txt")
    _run([_python(folder), "-m", "pip", "install", "-q", "--no-compile", "-c", constraints, *packages], folder)


def _python(folder: Path) -> str:
    return str(folder / "venv" / "bin" / "python")


def _run(command: list[str], folder: Path) -> None:
    """Run one step of an installation; its last line is the reason if it fails."""
    try:
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_S)
    except subprocess.TimeoutExpired as error:
        raise NotInstalledError(f"{command[0]} took longer than {INSTALL_S:.0f} s") from error
    if ended.returncode:
        lines = [line for line in (ended.stderr or ended.stdout).splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()]
        raise NotInstalledError((errors or lines or ["no output"])[-1][:200])


def _version(software: Software, folder: Path) -> str:
    if software.environment == "npm":
        package = json.loads((folder / "node_modules" / software.of / "package.json").read_text(encoding="utf-8"))
        return str(package["version"])
    code = f"import importlib.metadata; print(importlib.metadata.version({software.of!r}))"
    asked = subprocess.run([_python(folder), "-c", code], capture_output=True, text=True)
    if asked.returncode:
        raise NotInstalledError(f"{software.of} is not in the environment")
    return asked.stdout.strip()
