"""Complete the words of a command line: dialects, checks, topics and kinds of reports.

`chatproof completion SHELL` prints the script that enables it. Values are computed by this program, so that they are
those of the installed version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, get_completion_class

from conformance.cli.options import EVERY_DIALECT
from conformance.report.report_kinds import REPORT_KINDS, list_names

if TYPE_CHECKING:
    from collections.abc import Iterable

PROGRAM = "chatproof"
VARIABLE = "_CHATPROOF_COMPLETE"


def complete_dialects(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the dialects that begin with the word, or files if it is a path."""
    from openapi.contract.contract import names

    if "/" in incomplete or incomplete.startswith("."):
        return [CompletionItem(incomplete, type="file")]
    return _matching([*names(), EVERY_DIALECT], incomplete)


def complete_checks(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the ids of checks that begin with the word."""
    from conformance.judge.check_registry import gather_checks

    return _matching(gather_checks(), incomplete)


def complete_topics(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the topics of checks that begin with the word."""
    from conformance.judge.check_registry import gather_checks

    return _matching({check.topic for check in gather_checks().values()}, incomplete)


def complete_reports(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the kinds of reports that begin with the word, or files after KIND=."""
    if "=" in incomplete:
        return [CompletionItem(incomplete.partition("=")[2], type="file")]
    return _matching((f"{kind}=" for kind in list_names(REPORT_KINDS)), incomplete)


COMPLETIONS = {
    "--dialect": complete_dialects,
    "--also": complete_dialects,
    "--only": complete_checks,
    "--topic": complete_topics,
    "--report": complete_reports,
}
"""The functions that complete the values of options of the suite."""


def _matching(words: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(word) for word in sorted(words) if word.startswith(incomplete)]


@click.command(name="completion", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes commands, options, dialects, checks and topics in a shell.

    bash: `eval "$(chatproof completion bash)"` in ~/.bashrc. zsh: the same in ~/.zshrc. fish: `chatproof completion
    fish > ~/.config/fish/completions/chatproof.fish`.
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    root = click.get_current_context().find_root().command
    click.echo(kind(root, {}, PROGRAM, VARIABLE).source())
