"""The pytest plugin of chatproof. It does nothing unless a run requests the suite.

Every pytest run of an environment loads this module, so it imports nothing of ours, adds no option and defines no
fixture before it has seen `-p chatproof`, an option that begins with `--chatproof`, or the suite among the arguments.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SUITE: Final = "conformance.suite"
PREFIX: Final = "--chatproof"
PLUGIN: Final = "chatproof"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Iterator[None]:
    """Add the options of the suite if they are requested, after those of other plugins and of the first conftests.

    An option whose name another plugin has taken is then available with the prefix `--chatproof-` only.
    """
    if not is_requested(args):
        return (yield)
    import chatproof  # before a conftest puts packages with the names of ours on the path

    chatproof.import_own_packages()
    result = yield
    options = importlib.import_module("conformance.cli.pytest_options")
    options.add_options(parser)
    early_config.stash[options.COMMANDS] = chatproof.main
    early_config.pluginmanager.register(RequestedSuite(), "chatproof-requested")
    return result


class RequestedSuite:
    """The hooks and the fixture of a run that requests the suite."""

    def pytest_collection(self, session: pytest.Session) -> None:
        """Reach the server before anything is collected if the suite is an argument, so that a failure is one line."""
        if any(SUITE in argument.replace("/", ".") for argument in session.config.args):
            plugin = importlib.import_module("conformance.cli.pytest_plugin")
            session.config.pluginmanager.register(plugin, "chatproof-suite")
            plugin.open_judging(session.config)

    @pytest.fixture(scope="session")
    def chatproof_check(self) -> Callable[..., Any]:
        """`chatproof.check`: judge a server and return a report."""
        import chatproof

        return chatproof.check


def is_requested(arguments: Sequence[str]) -> bool:
    """Return whether the arguments of pytest, including those of its configuration, request the suite."""
    after_p = [arguments[at + 1] for at, argument in enumerate(arguments[:-1]) if argument == "-p"]
    return (
        PLUGIN in after_p
        or f"-p{PLUGIN}" in arguments
        or any(argument.startswith(PREFIX) or SUITE in argument.replace("/", ".") for argument in arguments)
    )
