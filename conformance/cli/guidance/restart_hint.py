"""Say how to start the embedded server of a run again, which the commands of its report need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from conformance.report.writers.cause_groups import list_problems
from conformance.report.writers.terminal_text import INDENT, sanitize
from conformance.run.embedded_server import list_restart_commands

if TYPE_CHECKING:
    from rich.console import Console

    from conformance.run.embedded_server import EmbeddedServer
    from conformance.run.session.conclusion import RunOutcome
    from openapi.contract.contract import Contract

LONGEST = 2000


def print_restart_hint(outcome: RunOutcome, contract: Contract, server: EmbeddedServer, console: Console) -> None:
    """Print how to serve a contract again at the address in the commands of a report; nothing without a finding."""
    if not list_problems(outcome.results):
        return
    commands = list_restart_commands(contract, server)
    both = ", with the same key in both" if server.key else ""
    line = f"the embedded server has ended; to use the commands above, start it again in another shell{both}:"
    console.print(Text(line, "dim"), soft_wrap=True)
    for command in commands:
        console.print(Text(f"{INDENT}{sanitize(command, LONGEST)}", "cyan"), soft_wrap=True)
