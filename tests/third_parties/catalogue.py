"""The servers, clients and suites of other projects, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
CHECKPOINT: Final = ROOT / "reference_server" / "tiny" / "checkpoint"


@dataclass(frozen=True, slots=True)
class Stripped:
    """A package that is installed without some of its dependencies, and the name its metadata are also found under."""

    package: str
    dependencies: tuple[str, ...]
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Software:
    """What is installed into one environment.

    name: the key of the environment's folder.
    environment: `python` (a virtual environment) or `npm` (a prefix).
    of: the package whose version is reported.
    """

    name: str
    of: str
    environment: str
    packages: tuple[str, ...]
    without: Stripped | None = None
    prepare: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Server:
    """A server of another project; servers.yaml describes each field."""

    name: str
    title: str
    software: Software
    start: str
    ready: str
    model: str
    dialects: tuple[str, ...]
    start_s: float = 120.0
    variables: Mapping[str, str] = field(default_factory=dict)
    gateway: tuple[str, ...] | None = None
    behind: str | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """A client or a suite of another project, run by one command against one of our servers.

    against: the dialects that the reference server serves, one run for each; `gateway` for the gateway.
    known: cases that fail, and why.
    source: name of a checked-out repository that the command needs, given with --source.
    unavailable: why it cannot be run at all.
    """

    name: str
    title: str
    software: Software | None
    command: str
    against: tuple[str, ...]
    known: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None
    unavailable: str | None = None


def servers() -> dict[str, Server]:
    """Return the servers by name, in the order of servers.yaml."""
    return {name: _server(name, row) for name, row in _read("servers.yaml")["servers"].items()}


def constraint() -> str:
    """Return the version constraint of every Python environment."""
    return str(_read("servers.yaml")["constraint"])


def clients() -> dict[str, Program]:
    """Return the clients by name."""
    return {name: _program(name, row) for name, row in _read("clients.yaml")["clients"].items()}


def suites() -> dict[str, Program]:
    """Return the suites by name."""
    return {name: _program(name, row) for name, row in _read("clients.yaml")["suites"].items()}


@cache
def _read(name: str) -> Any:
    return yaml.safe_load((HERE / name).read_text(encoding="utf-8"))


def _software(name: str, row: Mapping[str, Any]) -> Software:
    without = row.get("without")
    return Software(
        name=name,
        of=row["of"],
        environment=row["environment"],
        packages=tuple(row["packages"]),
        without=Stripped(without["package"], tuple(without["dependencies"]), without.get("alias")) if without else None,
        prepare=tuple(row.get("prepare", ())),
    )


def _server(name: str, row: Mapping[str, Any]) -> Server:
    gateway = row.get("gateway")
    return Server(
        name=name,
        title=row["title"],
        software=_software(name, row),
        start=row["start"],
        ready=row["ready"],
        model=row["model"],
        dialects=tuple(row["dialects"]),
        start_s=row.get("start_s", 120.0),
        variables=row.get("variables", {}),
        gateway=tuple(gateway) if gateway is not None else None,
        behind=row.get("behind"),
    )


def _program(name: str, row: Mapping[str, Any]) -> Program:
    return Program(
        name=name,
        title=row["title"],
        software=_software(name, row) if "packages" in row else None,
        command=row.get("command", ""),
        against=tuple(row.get("against", ())),
        known=row.get("known", {}),
        source=row.get("source"),
        unavailable=row.get("unavailable"),
    )
