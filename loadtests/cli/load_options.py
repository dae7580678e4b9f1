"""The options of the commands that send load, and as arguments for Locust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from loadtests.run.options import OPTIONS, value_type
from openapi.command_options.duration import Duration, format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OUT: Final = "load-report"


def add_load_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of the locustfile to a command."""
    for option in reversed(OPTIONS):
        names = [f"--{option.shared}"] if option.shared else []
        names += [f"--{option.name}", option.name.replace("-", "_")]
        if option.default is False:
            decorate = click.option(*names, is_flag=True, help=option.help)
        elif option.is_duration:
            decorate = click.option(
                *names,
                default=format_duration(option.default),
                show_default=True,
                type=Duration(),
                metavar="TIME",
                help=option.help.replace(", seconds", ""),
            )
        else:
            decorate = click.option(
                *names,
                default=OUT if option.name == "out" else option.default or None,
                show_default=True,
                multiple=option.default == (),
                type=click.Choice(option.choices)
                if option.choices
                else str
                if option.default == ()
                else value_type(option),
                metavar=None if option.choices else option.metavar,
                help=option.help,
            )
        command = decorate(command)
    return command


wait_option = click.option(
    "--wait",
    default=0.0,
    type=Duration(),
    metavar="TIME",
    help="Maximum time to wait for a server that is still starting (default: none).",
)


def format_options(values: dict[str, Any]) -> Iterator[str]:
    """Yield the options of the load test as arguments for Locust."""
    for option in OPTIONS:
        value = values.get(option.name.replace("-", "_"))
        if value is True:
            yield f"--{option.name}"
        elif value is not None and value is not False:
            for item in value if isinstance(value, tuple) else (value,):
                yield f"--{option.name}={item}"
