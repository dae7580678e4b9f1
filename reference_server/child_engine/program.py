"""Programs of engines: how each is started, as data in engines.yaml."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import yaml

from reference_server.child_engine.failure import EngineProgramError

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE: Final = "engines.yaml"


@dataclass(frozen=True, slots=True)
class EngineProgram:
    """How the server of an engine is started.

    arguments, variables: with {checkpoint}, {model}, {port} and {key} in place of the values of one replica.
    health: path that answers 200 when the engine can serve.
    own: options that are always set, and that the user must not set again.
    install: what provides the program, for a message.
    """

    name: str
    kind: str
    program: str
    arguments: tuple[str, ...]
    variables: Mapping[str, str]
    health: str
    own: frozenset[str]
    install: str

    def find(self, chosen: str | None = None) -> str:
        """Return the path of the executable; raise EngineProgramError if it is missing.

        chosen: what the user has named instead of the usual program.
        """
        path = shutil.which(chosen or self.program)
        if path is None:
            advice = "" if chosen else f": install {self.install}, or name the executable with --engine-program"
            raise EngineProgramError(f"cannot find the program {(chosen or self.program)!r}{advice}")
        return path

    def split_arguments(self, text: str) -> tuple[str, ...]:
        """Return the user's own arguments as a shell would; raise EngineProgramError for those that are set already."""
        try:
            arguments = tuple(shlex.split(text))
        except ValueError as error:
            raise EngineProgramError(f"invalid --engine-args: {str(error).lower()}") from error
        for argument in arguments:
            option = argument.partition("=")[0].replace("_", "-")
            if option in self.own:
                raise EngineProgramError(f"invalid --engine-args: {option} is set by chatproof: remove it")
        return arguments


@cache
def _read() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(files(__package__).joinpath(FILE).read_text(encoding="utf-8"))
    return content


def program_names() -> tuple[str, ...]:
    """Return the names of the engines that can be started."""
    return tuple(_read())


def load_program(name: str) -> EngineProgram:
    """Return how an engine is started; raise EngineProgramError for an unknown name."""
    if name not in _read():
        raise EngineProgramError(f"unknown --engine {name!r}: expected one of {', '.join(program_names())}")
    row = _read()[name]
    return EngineProgram(
        name,
        row["kind"],
        row["program"],
        tuple(row["arguments"]),
        row["variables"],
        row["health"],
        frozenset(row["own"]),
        row["install"],
    )
