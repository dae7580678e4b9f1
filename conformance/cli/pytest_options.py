"""Register the options of the suite with pytest, and load the suite's plugin when the suite is requested.

Options given on the command line must be known before pytest finds the suite. Every pytest run of the environment loads
this module, so it imports the rest of the suite only when it is needed.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from conformance.cli.options import OPTIONS, SuiteOption

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

BASE_URL = SuiteOption("--base-url", "Server to judge (default: the embedded server)", "URL")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the suite. An option that another plugin has added (`--base-url`) is shared with it."""
    group = parser.getgroup("chatproof", "conformance of a chat-completions server (pytest --pyargs conformance.suite)")
    for option in (BASE_URL, *OPTIONS.values()):
        if option.in_pytest:
            with suppress(ValueError):
                group.addoption(option.pytest_name or option.name, **_settings(option))


def _settings(option: SuiteOption) -> dict[str, Any]:
    """Return the arguments of `argparse.ArgumentParser.add_argument` for an option."""
    settings: dict[str, Any] = {"help": option.pytest_help or option.help}
    if option.kind == "flag":
        return {**settings, "action": "store_true"}
    settings["metavar"] = option.metavar
    if option.repeatable:
        return {**settings, "action": "append", "default": []}
    if option.kind in ("integer", "number"):
        settings |= {"type": _number(option), "default": option.default}
    if option.kind == "choice":
        settings |= {"choices": option.choices, "default": option.default}
    if option.default:
        default = option.default if isinstance(option.default, str) else f"{option.default:g}"
        settings["help"] += f" (default: {default})"
    return settings


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


def pytest_collection(session: pytest.Session) -> None:
    """Reach the server before anything is collected if the suite is requested, so that a failure is one line."""
    if any("conformance.suite" in argument.replace("/", ".") for argument in session.config.args):
        from conformance.cli import pytest_plugin

        session.config.pluginmanager.register(pytest_plugin, "chatproof-suite")
        pytest_plugin.open_judging(session.config)
