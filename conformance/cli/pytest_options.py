"""The options of the suite in pytest. `chatproof_pytest` loads this module if a run requests the suite.

Each option has a name with the prefix `--chatproof-`, and its usual name unless another plugin or a conftest has taken
that.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import click
import pytest

from conformance.cli.check_command import check
from conformance.cli.options import OPTIONS, SuiteOption
from openapi.command_options import config_file
from openapi.command_options.duration import format_duration, parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX: Final = "--chatproof-"
BASE_URL: Final = SuiteOption("--base-url", "Server to judge (default: the embedded server)", "URL")
COMMANDS: Final = pytest.StashKey[click.Group]()
"""The command line of chatproof, whose options chatproof.toml sets."""
CONFIGURED: Final = pytest.StashKey[dict[str, Any]]()
PYTEST_OPTIONS: Final = {option.name: option for option in (BASE_URL, *OPTIONS.values()) if option.in_pytest}


def add_options(parser: pytest.Parser) -> None:
    """Add the options of the suite. Names that another plugin has added are left to it.

    Options that are not given have no value here: `read_option` takes it from chatproof.toml or a variable.
    """
    group = parser.getgroup("chatproof", "conformance of a chat-completions server (pytest --pyargs conformance.suite)")
    for option in PYTEST_OPTIONS.values():
        prefixed, settings = f"{PREFIX}{option.name.removeprefix('--')}", {**_settings(option), "dest": _dest(option)}
        try:
            group.addoption(prefixed, option.pytest_name or option.name, **settings)
        except (argparse.ArgumentError, ValueError):
            with suppress(argparse.ArgumentError, ValueError):  # added twice in one process
                group.addoption(prefixed, **settings)


def read_option(config: pytest.Config, name: str) -> Any:
    """Return the value of an option of the suite by its name on the command line of `chatproof`.

    An option that is not given has the value that `chatproof check` would use: of a CHATPROOF_ variable, the target
    that the base URL names, or chatproof.toml. The base URL may also be given by an option of that name which another
    plugin has added. Raise click.UsageError for an invalid value in the file or a variable.
    """
    option = PYTEST_OPTIONS[name]
    value = config.getoption(_dest(option))
    if option is BASE_URL:
        return _configured(config)[config_file.URL]
    is_given = value is not None and value is not False and value != []  # a given 0 is a value
    return value if is_given else _configured(config)[_parameter(option)]


def _configured(config: pytest.Config) -> dict[str, Any]:
    """Return the values of all parameters of `chatproof check` as the file and the variables set them."""
    if CONFIGURED not in config.stash:
        url = config.getoption(_dest(BASE_URL)) or config.getoption("base_url", None)
        parent = click.Context(config.stash[COMMANDS])
        config_file.connect_options(check)
        defaults = config_file.read_defaults(check, "check")
        context = check.make_context("check", [url] if url else [], parent=parent, default_map=defaults)
        config.stash[CONFIGURED] = context.params
    return config.stash[CONFIGURED]


def _parameter(option: SuiteOption) -> str:
    return option.parameter or option.name.removeprefix("--").replace("-", "_")


def _dest(option: SuiteOption) -> str:
    return f"chatproof_{option.name.removeprefix('--').replace('-', '_')}"


def _settings(option: SuiteOption) -> dict[str, Any]:
    """Return the arguments of `argparse.ArgumentParser.add_argument` for an option."""
    settings: dict[str, Any] = {"help": option.pytest_help or option.help}
    if option.kind == "flag":
        return {**settings, "action": "store_true"}
    settings["metavar"] = option.metavar
    if option.repeatable:
        return {**settings, "action": "append", "default": []}
    if option.kind in ("integer", "number"):
        settings |= {"type": _number(option)}
    if option.kind == "duration":
        settings |= {"type": _duration(option)}
    if option.kind == "choice":
        settings |= {"choices": option.choices}
    if option.default:
        default = option.default if isinstance(option.default, str) else _shown(option.default, option.kind)
        settings["help"] += f" (default: {default})"
    return settings


def _shown(default: float, kind: str) -> str:
    return format_duration(default) if kind == "duration" else f"{default:g}"


def _duration(option: SuiteOption) -> Callable[[str], float]:
    """Return the function that reads a duration."""

    def parse(text: str) -> float:
        try:
            return parse_duration(text, positive=option.above)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


def _number(option: SuiteOption) -> Callable[[str], float]:
    """Return the function that reads a number and checks its range."""

    def parse(text: str) -> float:
        value = int(text) if option.kind == "integer" else float(text)
        too_low = value <= option.minimum if option.above else value < option.minimum
        if too_low or (option.maximum is not None and value > option.maximum):
            least = f"more than {option.minimum}" if option.above else f"at least {option.minimum}"
            most = "" if option.maximum is None else f" and at most {option.maximum}"
            raise argparse.ArgumentTypeError(f"expected {least}{most}, got {text}")
        return value

    parse.__name__ = option.kind  # argparse names it where the text is not a number
    return parse
