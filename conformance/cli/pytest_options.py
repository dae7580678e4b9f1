"""The suite's pytest options: the one part that every pytest run of the environment loads, so it is small.

Options given on the command line must be known before pytest finds the suite's own conftest.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

DEFAULT_DIALECT = "mindie"
MAX_REQUESTS = 1500
MAX_TOKENS = 200_000
MAX_TIME_S = 1200.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the suite. One that another plugin has already (`--base-url`) is shared with it."""
    group = parser.getgroup("chatproof", "conformance of a chat-completions server (pytest --pyargs conformance.suite)")
    repeatable: dict[str, Any] = {"action": "append", "default": []}
    options: dict[str, dict[str, Any]] = {
        "--base-url": {"metavar": "URL", "help": "the server; without it the embedded one is judged"},
        "--dialect": {"metavar": "NAME", "help": f"the API to judge by (default {DEFAULT_DIALECT})"},
        "--model": {"metavar": "NAME", "help": "the model to ask for (default: the first that is listed)"},
        "--api-key-env": {"metavar": "VAR", "help": "environment variable that holds the API key"},
        "--header": {**repeatable, "metavar": "'NAME: VALUE'", "help": "sent with every request; shown in reports"},
        "--header-env": {**repeatable, "metavar": "NAME=VAR", "help": "the same from a variable, and kept secret"},
        "--concurrency": {"type": int, "default": 4, "metavar": "N", "help": "exchanges at a time (default 4)"},
        "--only": {**repeatable, "metavar": "GLOB", "help": "only these checks, requirements or scenarios"},
        "--topic": {**repeatable, "metavar": "NAME", "help": "only checks of this topic"},
        "--coverage": {"type": int, "default": 0, "metavar": "N", "help": "also N cases of schemathesis"},
        "--fuzz": {"type": int, "default": 0, "metavar": "N", "help": "also N requests drawn by chance"},
        "--fuzz-seed": {"type": int, "default": 0, "metavar": "S", "help": "what chance follows from"},
        "--capability": {**repeatable, "metavar": "+X,-Y", "help": "the server has X and lacks Y"},
        "--waivers": {"metavar": "FILE", "help": "failures that somebody answers for (YAML)"},
        "--max-requests": {"type": int, "default": MAX_REQUESTS, "metavar": "N", "help": "requests at most"},
        "--max-tokens": {"type": int, "default": MAX_TOKENS, "metavar": "N", "help": "tokens at most, as reported"},
        "--max-time": {"type": float, "default": MAX_TIME_S, "metavar": "S", "help": "seconds at most"},
        "--rate": {"type": float, "metavar": "N", "help": "requests a second at most"},
        "--wait-for-server": {"type": float, "default": 0.0, "metavar": "S", "help": "seconds to wait until it is up"},
        "--insecure": {"action": "store_true", "help": "do not verify the server's certificate"},
        "--ca-file": {"metavar": "FILE", "help": "authorities to trust, PEM"},
        "--conformance-report": {
            **repeatable,
            "metavar": "KIND=PATH",
            "help": "a report of chatproof check",
        },
        "--conformance-strict": {"action": "store_true", "help": "a broken SHOULD fails too"},
    }
    for name, settings in options.items():
        with suppress(ValueError):
            group.addoption(name, **settings)


def pytest_collection(session: pytest.Session) -> None:
    """Opens the suite when it is asked for, before anything is collected: a dead server is told in one line."""
    if any("conformance.suite" in argument.replace("/", ".") for argument in session.config.args):
        from conformance.cli import pytest_plugin as plugin

        session.config.pluginmanager.register(plugin, "chatproof-suite")
        plugin.open_judging(session.config)
