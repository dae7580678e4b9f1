"""The options of `chatproof serve` for an engine that it starts, and the supervisor that they configure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from openapi.command_options.duration import Duration
from openapi.command_options.option_group import add_option_group
from reference_server.child_engine.failure import EngineProgramError
from reference_server.child_engine.program import load_program, program_names
from reference_server.child_engine.replica import WatchTimes
from reference_server.child_engine.supervisor import Supervisor

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_TIMES: Final = WatchTimes()


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Values of the engine options. variables: as NAME=VALUE. start_s: until the engine must be ready."""

    name: str | None = None
    program: str | None = None
    arguments: str = ""
    variables: tuple[str, ...] = ()
    replicas: int = 1
    start_s: float = DEFAULT_TIMES.start


OPTIONS: Final = [
    click.Option(
        ["--engine"],
        metavar="NAME",
        help=f"Start the engine of another project for --checkpoint, and forward requests to it: "
        f"{' or '.join(program_names())}.",
    ),
    click.Option(["--engine-program"], metavar="FILE", help="Executable of that engine (default: found on PATH)."),
    click.Option(
        ["--engine-args"],
        default="",
        metavar="ARGS",
        help="Arguments for the engine, such as '--tensor-parallel-size 8 --tool-call-parser hermes'.",
    ),
    click.Option(
        ["--engine-env"],
        multiple=True,
        metavar="NAME=VALUE",
        help="Environment variable of the engine. Repeatable. {replica} is the number of the replica, from 0.",
    ),
    click.Option(
        ["--engine-replicas"],
        default=1,
        show_default=True,
        type=click.IntRange(1, 64),
        help="Number of engines to start; they take turns.",
    ),
    click.Option(
        ["--engine-start"],
        default="30m",
        show_default=True,
        type=Duration(positive=True),
        metavar="TIME",
        help="Time until the engine must be ready.",
    ),
]
engine_options = add_option_group(OPTIONS, "child_engine", EngineOptions)
"""Adds the options to a command, which gets their values as one argument, `child_engine`."""
NAMES: Final = tuple(str(option.name) for option in OPTIONS if option.name != "engine")


def make_supervisor(options: EngineOptions, checkpoint: Path | None, model: str) -> tuple[Supervisor, str]:
    """Return the supervisor of the chosen engine, and the kind that the gateway has to expect.

    Raises EngineProgramError if it cannot be started as configured.
    """
    program = load_program(options.name or "")
    if checkpoint is None:
        raise EngineProgramError("--engine requires --checkpoint: name the folder of the model")
    if not checkpoint.is_dir():
        raise EngineProgramError(f"--checkpoint {checkpoint} is not a folder: expected a model in transformers' format")
    supervisor = Supervisor(
        program,
        program.find(options.program),
        checkpoint=str(checkpoint),
        model=model,
        own_arguments=program.split_arguments(options.arguments),
        own_variables=_parse_variables(options.variables),
        replicas=options.replicas,
        times=WatchTimes(start=options.start_s),
    )
    return supervisor, program.kind


def _parse_variables(assignments: tuple[str, ...]) -> dict[str, str]:
    variables = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name.isidentifier():
            raise EngineProgramError(f"invalid --engine-env {assignment!r}: expected NAME=VALUE")
        variables[name] = value
    return variables
