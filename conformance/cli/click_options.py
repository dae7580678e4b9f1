"""Add options of the suite to click commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from conformance.cli.guidance.completion import COMPLETIONS
from conformance.cli.options import OPTIONS
from openapi.command_options.duration import Duration, format_duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.cli.options import SuiteOption

Command = TypeVar("Command", bound="Callable[..., Any]")


def add_options(*names: str) -> Callable[[Command], Command]:
    """Decorate a command function with options of the suite, in the order in which the help lists them."""

    def decorate(command: Command) -> Command:
        for name in reversed(names):
            command = _decorator(OPTIONS[name])(command)
        return command

    return decorate


def _decorator(option: SuiteOption) -> Callable[[Command], Command]:
    names = [name for name in (option.name, option.short, option.parameter) if name is not None]
    completion: Any = {"shell_complete": COMPLETIONS[option.name]} if option.name in COMPLETIONS else {}
    if option.kind == "flag":
        return click.option(*names, is_flag=True, help=option.help)
    if option.repeatable:
        return click.option(*names, multiple=True, metavar=option.metavar, help=option.help, **completion)
    return click.option(
        *names,
        type=_type(option),
        default=_default(option),
        show_default=bool(option.default),
        metavar=option.metavar,
        help=option.help,
        **completion,
    )


def _default(option: SuiteOption) -> float | str | None:
    """Return the default as the help shows it."""
    if option.kind == "duration" and isinstance(option.default, float):
        return format_duration(option.default)
    return option.default


def _type(option: SuiteOption) -> click.ParamType[Any]:
    if option.kind == "file":
        return click.Path(path_type=Path)
    if option.kind == "integer":
        return click.IntRange(option.minimum, option.maximum)
    if option.kind == "choice":
        return click.Choice(option.choices)
    if option.kind == "duration":
        return Duration(positive=option.above)
    if option.kind == "number":
        return click.FloatRange(min=option.minimum, min_open=option.above)
    return click.STRING
