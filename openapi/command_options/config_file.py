"""Read `chatproof.toml`, which sets options of commands, and names servers as targets.

    [check]
    max-time = "5m"

    [targets.staging]
    url = "https://staging.example:8000"
    dialect = "mindie"

A table has the name of a command, and its keys are those of the command's options. `chatproof check @staging` takes the
URL and the options of a target. The command line wins over environment variables (`CHATPROOF_` and the name of the
option), these over the target, and the target over the table of the command.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from openapi.did_you_mean import count_typing_errors, suggest

if TYPE_CHECKING:
    from collections.abc import Collection

FILE: Final = "chatproof.toml"
PREFIX: Final = "CHATPROOF_"
FILE_VARIABLE: Final = "CHATPROOF_CONFIG"
COMMANDS: Final = ("check", "judge", "replay", "diff", "matrix", "load")
"""The commands whose options the file can set."""
TARGETS: Final = "targets"
URL: Final = "url"
LETTERS_PER_TYPING_ERROR: Final = 6
"""In a variable; in shorter names one error makes the name of another command's option, such as RATE of TRACE."""


class ConfigError(click.UsageError):
    """The file cannot be read, or it has an unknown name. The message is one line that says where."""


class Lines(click.types.StringParamType):
    """A string; several of them are separated by line ends in an environment variable."""

    envvar_list_splitter = "\n"


def config_path() -> Path:
    """Return the file that `CHATPROOF_CONFIG` names, or `chatproof.toml` of the working directory."""
    return Path(os.environ.get(FILE_VARIABLE) or FILE)


def read_config() -> dict[str, Any]:
    """Return the tables of the file, or an empty dictionary without a file. Raise ConfigError for invalid TOML."""
    path = config_path()
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        if os.environ.get(FILE_VARIABLE):
            raise ConfigError(f"{FILE_VARIABLE}: cannot read {path}: No such file or directory") from None
        return {}
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: invalid TOML: {error}") from error
    _require_known(content, (*COMMANDS, TARGETS), str(path))
    for name, table in content.items():
        if not isinstance(table, dict):
            raise ConfigError(f"{path}: {name}: expected a table, [{name}]")
    return content


def option_name(parameter: click.Parameter) -> str | None:
    """Return the name of an option without dashes; None for an argument."""
    long = [name for name in parameter.opts if name.startswith("--")]
    return long[0].removeprefix("--") if isinstance(parameter, click.Option) and long else None


def takes_target(command: click.Command) -> bool:
    """Return whether `@NAME` can stand for the URL of a command."""
    return any(parameter.name == URL for parameter in command.params)


def connect_options(command: click.Command) -> None:
    """Let environment variables set the options of a command, and a target its URL."""
    for parameter in command.params:
        name = option_name(parameter)
        if name is not None and name != "help" and parameter.envvar is None:
            parameter.envvar = f"{PREFIX}{name.upper().replace('-', '_')}"
            if parameter.multiple and type(parameter.type) is click.types.StringParamType:
                parameter.type = Lines()
        if parameter.name == URL:
            parameter.is_eager, parameter.callback = True, _use_target


def require_known_variables(command: click.Command) -> None:
    """Raise ConfigError for a variable whose name is almost that of an option of the command: it would have no effect.

    Other names that begin alike may be those of other commands, or of keys, which the user chooses.
    """
    known = [str(parameter.envvar) for parameter in command.params if parameter.envvar] + [FILE_VARIABLE]
    for name in os.environ:
        if name.startswith(PREFIX) and (meant := find_meant_variable(name, known)) is not None:
            raise ConfigError(f"unknown environment variable {name}. Did you mean {meant}?")


def find_meant_variable(name: str, known: Collection[str]) -> str | None:
    """Return the known variable from which a name differs by a typing error; None for a known name."""
    if name in known:
        return None
    allowed = len(name.removeprefix(PREFIX)) // LETTERS_PER_TYPING_ERROR
    return next((other for other in known if count_typing_errors(name, other) <= allowed), None)


def read_defaults(command: click.Command, name: str) -> dict[str, Any]:
    """Return the values that the file has for the options of a command, by parameter."""
    return _by_parameter(read_config().get(name, {}), command, f"{config_path()}: [{name}]")


def _use_target(context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """Return the URL of the target that `@NAME` stands for, and use its options as defaults."""
    if value is None or not value.startswith("@"):
        return value
    url, values, place = read_target(context, value)
    context.default_map = {**(context.default_map or {}), **values}
    context.meta[TARGETS] = (place, set(values))
    return url


def read_target(context: click.Context, value: str) -> tuple[str, dict[str, Any], str]:
    """Return the URL of the target that `@NAME` stands for, its options by parameter, and its place in the file.

    Raise ConfigError for an unknown target, or one that has an invalid option.
    """
    targets, name = read_config().get(TARGETS, {}), value.removeprefix("@")
    if name not in targets:
        known = f"expected one of {', '.join(f'@{other}' for other in sorted(targets))}{suggest(name, targets)}"
        if not targets:
            known = f"add a table [{TARGETS}.{name}] with a url, or begin with `chatproof init`"
        where = "has no such target" if config_path().exists() else "is not in this folder"
        raise ConfigError(f"unknown target {value!r}: {config_path()} {where}: {known}")
    place = f"{config_path()}: [{TARGETS}.{name}]"
    if not isinstance(targets[name], dict):
        raise ConfigError(f"{place}: expected a table")
    table = dict(targets[name])
    url = table.pop(URL, None)
    if not isinstance(url, str):
        raise ConfigError(f"{place}: missing url: expected for example url = 'http://127.0.0.1:8000'")
    own = {option_name(parameter) for parameter in context.command.params}
    others = _options_of_other_commands(context) if set(table) - own else set()
    values = _by_parameter(
        {key: item for key, item in table.items() if key in own or key not in others}, context.command, place
    )
    return url, values, place


def _options_of_other_commands(context: click.Context) -> set[str | None]:
    """Return the options of the commands that take targets: a target may have options for several commands."""
    root = context.find_root()
    loaded = (
        [root.command.resolve_command(root, [name])[1] for name in COMMANDS]
        if isinstance(root.command, click.Group)
        else []
    )
    return {
        option_name(parameter)
        for command in loaded
        if command is not None and takes_target(command)
        for parameter in command.params
    }


def _by_parameter(table: dict[str, Any], command: click.Command, place: str) -> dict[str, Any]:
    """Return the values of a table by parameter. Raise ConfigError for unknown names and values of a wrong type."""
    parameters = {name: item for item in command.params if (name := option_name(item)) is not None and name != "help"}
    _require_known(table, parameters, place)
    values = {}
    for name, value in table.items():
        parameter = parameters[name]
        is_list, is_flag = isinstance(value, list), getattr(parameter, "is_flag", False)
        if is_list != parameter.multiple or isinstance(value, dict) or isinstance(value, bool) != is_flag:
            expected = "a list" if parameter.multiple else "true or false" if is_flag else "one string or number"
            raise ConfigError(f"{place} {name}: expected {expected}")
        try:
            values[str(parameter.name)] = parameter.type_cast_value(click.Context(command), value)
        except click.BadParameter as error:
            raise ConfigError(f"{place} {name}: {error.message}") from error
    return values


def _require_known(table: dict[str, Any], known: Any, place: str) -> None:
    for name in table:
        if name not in known:
            raise ConfigError(f"{place}: unknown name {name!r}{suggest(name, known)}")
