"""`chatproof dialect check`: validate a dialect file, serve it, judge its server, and list what is left to do."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from rich.text import Text

from conformance.cli import exit_codes
from conformance.cli.check_run import judge_server
from conformance.cli.click_options import add_options
from conformance.cli.dialect_todo import list_lost_sentences, list_todos
from conformance.cli.guidance.restart_hint import print_restart_hint
from conformance.client.secret import Secret
from conformance.proof.counterexamples import list_unproven
from conformance.report.outcome import Outcome
from conformance.report.verdict import Verdict
from conformance.report.writers import report_files
from conformance.report.writers.cause_groups import list_problems
from conformance.report.writers.terminal_text import sanitize
from conformance.run import embedded_server
from conformance.run.session.options import RunOptions
from conformance.run.session.target import load_contract
from openapi.console import make_console

if TYPE_CHECKING:
    from rich.console import Console

    from conformance.plan.depth import Depth
    from conformance.run.session.conclusion import RunOutcome
    from openapi.contract.contract import Contract

MOST_REASONS: Final = 3
"""How many reasons the last line names."""
LONGEST_REASON: Final = 200


@click.command(name="check", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("dialect", metavar="FILE")
@add_options("--depth", "--report")
def check_dialect(dialect: str, depth: Depth, reports: tuple[str, ...]) -> None:
    """Check a dialect file: validate it, serve it with the reference server, and judge that strictly.

    The server follows the file, so a finding is a contradiction in the file or a fault of chatproof. Each own check
    must report its counterexample. Then everything is listed that is left to do; that does not fail. With a finding,
    the results are written to NAME.results.json, unless --report names another json file. The last line is `NAME: ok`,
    or names the first reasons why it is not.

    Exit codes: 0 valid and judged without a finding, 1 a finding, a check without a working counterexample or an
    untested sentence, 2 usage error: an invalid file, or one of its checks raises an exception.
    """
    console = make_console()
    with exit_codes.report_errors():
        contract = load_contract(dialect, "dialect")
        files = report_files.parse_options(reports)
        results = next((path for kind, path in files if kind == "json"), None)
        default = Path(f"{contract.name}.{report_files.RESULTS}")
        outcome = _judge_reference_server(contract, depth, console, results or default)
        if results is None and list_problems(outcome.results):  # the commands of the report read them
            files = [("json", default), *files]
        report_files.write_reports(files, outcome.results, console)
        exit_codes.print_own_errors(outcome)
        code = exit_codes.exit_code(outcome)
        problems = [*list_unproven(outcome), *list_lost_sentences(contract)]
        _print_lines(console, "problems", problems, "red")
        _print_lines(console, "left to do", list(list_todos(contract, outcome)), "yellow")
        reasons = [*_list_failures(outcome), *problems]
        if reasons:
            console.print(Text(f"{contract.name}: not ok: {_join_reasons(reasons)}", "red"), soft_wrap=True)
        else:
            console.print(f"{contract.name}: [green]ok[/green]")
    sys.exit(max(code, exit_codes.NONCONFORMANT) if problems else code)


def _judge_reference_server(contract: Contract, depth: Depth, console: Console, file: Path) -> RunOutcome:
    with ExitStack() as stack:
        with console.status("starting the embedded reference server"):
            server = stack.enter_context(embedded_server.serve(contract))
        options = RunOptions(url=server.url, dialect=contract.location, depth=depth, strict=True)
        outcome = judge_server(options, Secret(server.key) if server.key else None, console, file=str(file))
        print_restart_hint(outcome, contract, server, console)
        return outcome


def _list_failures(outcome: RunOutcome) -> list[str]:
    """Return why a run does not show that its server conforms; empty if it does, also for what no request can show."""
    report = outcome.report
    if report.verdict is Verdict.CONFORMANT and not report.exhausted:
        return []
    failing = [
        f"{row.id} is {row.outcome}"
        for row in report.rows
        if row.outcome is Outcome.ERROR or report.fails(row, strict=True)
    ]
    ended = [f"the run ended early: {report.exhausted}"] if report.exhausted else []
    return [*failing, *ended] or [report.unjudged or f"the server is {report.verdict}"]


def _join_reasons(reasons: list[str]) -> str:
    """Return the first reasons on one line, and how many others there are."""
    more = f"; and {len(reasons) - MOST_REASONS} more" if len(reasons) > MOST_REASONS else ""
    return f"{'; '.join(sanitize(reason, LONGEST_REASON) for reason in reasons[:MOST_REASONS])}{more}"


def _print_lines(console: Console, title: str, lines: list[str], style: str) -> None:
    if lines:
        console.print(f"\n{title}:")
    for line in lines:
        console.print(Text(f"- {line}", style), soft_wrap=True)
