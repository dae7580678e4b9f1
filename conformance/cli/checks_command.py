"""`chatproof checks list` and `chatproof checks show`: the checks of the suite."""

from __future__ import annotations

import shlex
import sys
from functools import cache
from typing import TYPE_CHECKING, NoReturn

import click
from rich.markup import escape
from rich.table import Table

from conformance.cli.exit_codes import USAGE
from conformance.cli.guidance.completion import complete_checks, complete_dialects
from conformance.cli.tracing.trace_command import build_coverage_map, trace_sentences
from conformance.errors import UsageError
from conformance.judge.check_registry import gather_checks
from conformance.judge.schemathesis_oracle import CHECKS, ORACLES
from conformance.proof import kill_table
from conformance.proof.kill_matrix import faults_of
from conformance.proof.mutants import mutant
from conformance.run.session.target import load_contract
from openapi.console import LegibleTable, make_console
from openapi.contract.contract import name_of, names
from openapi.did_you_mean import similar_names
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.check import Check
    from conformance.plan.coverage_map import CoverageMap
    from conformance.plan.traced_sentences import TracedSentence
    from openapi.contract.contract import Contract
    from openapi.contract.sentence import Sentence

MAX_SHOWN = 4
"""The number of scenarios, sentences or faults that are listed; of the others only the number is shown."""


@click.command(name="list")
@click.option(
    "--dialect",
    metavar="NAME",
    help="Only the requirements of this dialect, with their keywords",
    shell_complete=complete_dialects,
)
def list_checks(dialect: str | None) -> None:
    """List all checks with their claims."""
    try:
        contract = load_contract(dialect) if dialect else None
    except UsageError as error:
        _exit_with_usage_error(str(error))
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("check", no_wrap=True)
    if contract:
        table.add_column("keyword")
    table.add_column("claim")
    for check in _checks_of(contract):
        keyword = [contract.requirements[check.id].keyword.value] if contract else []
        table.add_row(check.id, *keyword, escape(check.claim))
    make_console().print(LegibleTable(table))


def _checks_of(contract: Contract | None) -> Iterator[Check]:
    """Yield the checks of a dialect, or all checks, in the order of their ids."""
    for identity, check in sorted(gather_checks(contract).items()):
        if contract is None or identity in contract.requirements:
            yield check


@click.command(name="show")
@click.argument("identity", metavar="ID", shell_complete=complete_checks)
@click.option(
    "--dialect",
    metavar="NAME",
    help="Only this dialect; shows its own checks, too",
    shell_complete=complete_dialects,
)
def show_check(identity: str, dialect: str | None) -> None:
    """Show one check: its claim, its help, its mutant and faults, and its requirement and scenarios in each dialect."""
    try:
        chosen = load_contract(dialect) if dialect else None
        known = {**gather_checks(chosen), **CHECKS}
    except UsageError as error:
        _exit_with_usage_error(str(error))
    if identity not in known:
        similar = [name for name in known if identity.split(".")[-1] in name or name.startswith(identity)]
        similar = similar or similar_names(identity, known, 5)
        hint = f"similar checks: {', '.join(similar[:5])}" if similar else "`chatproof checks list` lists all checks"
        _exit_with_usage_error(f"unknown check {identity!r}; {hint}")
    check = known[identity]
    console = make_console()
    console.print(f"[bold]{check.id}[/bold]\n{escape(check.claim)}")
    if check.help:
        console.print(f"\n{escape(check.help)}")
    if identity in CHECKS:
        console.print(f"\n[dim]oracle[/dim]  {escape(_oracle(identity))}", soft_wrap=True)
        return
    console.print(f"\n[dim]mutant[/dim]  {escape(_mutant(check))}")
    for line in _faults(identity):
        console.print(f"[dim]fault[/dim]   {escape(line)}", soft_wrap=True)
    console.print()
    contracts = [chosen] if chosen else [load_contract(name) for name in dict.fromkeys(names().values())]
    contracts = [contract for contract in contracts if identity in contract.requirements]
    console.print(_requirements(contracts, identity))
    for contract in contracts:
        assertions = _coverage(contract).find_by_check(identity)
        scenarios = list(dict.fromkeys(assertion.scenario.id for assertion in assertions))
        console.print(f"\n[dim]{contract.name}[/dim]  {_scenarios(scenarios)}", soft_wrap=True)
        for sentence in _sentences(contract, identity):
            console.print(f"  {escape(sentence)}", soft_wrap=True)


@cache
def _coverage(contract: Contract) -> CoverageMap:
    return build_coverage_map(contract)


@cache
def _traced(contract: Contract) -> tuple[TracedSentence, ...]:
    return trace_sentences(contract)


def _mutant(check: Check) -> str:
    """Return the defect that the mutant of a check shows."""
    mutants = mutant.gather_own_mutants((check.origin,)) if check.origin else mutant.gather_mutants()
    return mutants[check.id].defect if check.id in mutants else f"none: add a mutant to {check.origin}"


def _oracle(identity: str) -> str:
    """Return the schemathesis check behind a check of generated requests, when it runs, and its keyword."""
    theirs, _, ours = ORACLES[identity]
    keyword = f"the keyword of {ours}" if ours else "the keyword of the value that the request is about"
    return f"{theirs} of schemathesis, with --coverage N or --fuzz N; it has {keyword}"


def _faults(identity: str) -> Iterator[str]:
    """Yield the faults that the check detected in the last fault run, those detected by the fewest checks first."""
    if identity in kill_table.EXCUSED:
        yield f"none: {kill_table.EXCUSED[identity]}"
    faults = faults_of(kill_table.read(), identity)
    for name, line in faults[:MAX_SHOWN]:
        yield f"{name}  {line}"
    if len(faults) > MAX_SHOWN:
        yield f"and {len(faults) - MAX_SHOWN} more: docs/kill-matrix.md"


def _requirements(contracts: list[Contract], identity: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("dialect", "keyword", "source", "interpretation"):
        table.add_column(column, overflow="fold")
    for contract in contracts:
        row = contract.requirements[identity]
        table.add_row(contract.name, row.keyword.value, escape(row.source), row.interpretation or "")
    return table


def _scenarios(ids: list[str]) -> str:
    """Return the number of scenarios, and the first of them."""
    if not ids:
        return "no scenario"
    number = format_quantity(len(ids), "scenario")
    return escape(f"{number}: {', '.join(ids[:MAX_SHOWN])}{', ...' if len(ids) > MAX_SHOWN else ''}")


def _sentences(contract: Contract, identity: str) -> Iterator[str]:
    """Yield the sentences that the check tests: those that name it, or else those whose places its scenarios test."""
    traced = _traced(contract)
    naming = [item.sentence for item in traced if identity in item.sentence.home.checks]
    tested = [item.sentence for item in traced if identity in item.checks]
    sentences: list[Sentence] = naming or tested
    for sentence in sentences[:MAX_SHOWN]:
        yield f"{sentence.source}  {sentence.keyword.value}  {sentence.says}"
    if len(sentences) > MAX_SHOWN:
        yield f"and {len(sentences) - MAX_SHOWN} more: chatproof spec trace --dialect {shlex.quote(name_of(contract))}"


def _exit_with_usage_error(message: str) -> NoReturn:
    click.echo(f"chatproof: {message}", err=True)
    sys.exit(USAGE)
