"""The catalogue of checks: `chatproof checks list` and `chatproof checks show`."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, NoReturn

import click
from rich.markup import escape
from rich.table import Table

from conformance.cli.trace_command import reach_of, trace
from conformance.errors import UsageError
from conformance.judge.check_registry import gather_checks
from conformance.judge.schemathesis_oracle import CHECKS, ORACLES
from conformance.proof import kill_table as ledger
from conformance.proof.kill_matrix import faults_of
from conformance.proof.mutants import mutant
from conformance.run.session import contract_of
from openapi.console import screen
from openapi.contract.contract import names
from openapi.did_you_mean import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.check import Check
    from conformance.cli.trace_command import Traced
    from conformance.plan.coverage_map import Reach
    from openapi.contract.contract import Contract
    from openapi.contract.sentence import Sentence

USAGE = 2
SHOWN = 4  # scenarios and sentences of one dialect that are named; the rest is counted


@click.command(name="list")
@click.option("--dialect", metavar="NAME", help="Only what this dialect requires, with its keywords.")
def list_checks(dialect: str | None) -> None:
    """Every check with its claim."""
    try:
        contract = contract_of(dialect) if dialect else None
    except UsageError as error:
        _leave(str(error))
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("check", no_wrap=True)
    if contract:
        table.add_column("keyword")
    table.add_column("claim")
    for found in _of(contract):
        keyword = [contract.requirements[found.id].keyword.value] if contract else []
        table.add_row(found.id, *keyword, escape(found.claim))
    screen().print(table)


def _of(contract: Contract | None) -> Iterator[Check]:
    for identity, found in sorted(gather_checks().items()):
        if contract is None or identity in contract.requirements:
            yield found


@click.command(name="show")
@click.argument("identity", metavar="ID")
def show_check(identity: str) -> None:
    """One check: claim, help, who asks for it and in which words, its mutant, and what exercises it."""
    known = {**gather_checks(), **CHECKS}
    if identity not in known:
        near = [name for name in known if identity.split(".")[-1] in name or name.startswith(identity)]
        near = near or nearest(identity, known, 5)
        hint = f"; near: {', '.join(near[:5])}" if near else "; `chatproof checks list` shows them all"
        _leave(f"no check is called {identity!r}{hint}")
    found = known[identity]
    console = screen()
    console.print(f"[bold]{found.id}[/bold]\n{escape(found.claim)}")
    if found.help:
        console.print(f"\n{escape(found.help)}")
    if identity in CHECKS:
        console.print(f"\n[dim]drawn[/dim]   {escape(_drawn(identity))}", soft_wrap=True)
        return
    console.print(f"\n[dim]mutant[/dim]  {escape(mutant.gather_mutants()[identity].sin)}")
    for line in _faults(identity):
        console.print(f"[dim]fault[/dim]   {escape(line)}", soft_wrap=True)
    console.print()
    askers = [contract_of(name) for name in dict.fromkeys(names().values())]
    askers = [contract for contract in askers if identity in contract.requirements]
    console.print(_requirements(askers, identity))
    for contract in askers:
        scenarios = list(dict.fromkeys(each.scenario.id for each in _reach(contract.name).of_check(identity)))
        console.print(f"\n[dim]{contract.name}[/dim]  {_some(scenarios, 'scenario')}", soft_wrap=True)
        for sentence in _sentences(contract, identity):
            console.print(f"  {escape(sentence)}", soft_wrap=True)


@cache
def _reach(dialect: str) -> Reach:
    return reach_of(contract_of(dialect))


@cache
def _trace(dialect: str) -> tuple[Traced, ...]:
    return trace(contract_of(dialect))


def _drawn(identity: str) -> str:
    """Whose check it is, when it runs, and how binding it is."""
    theirs, _, ours = ORACLES[identity]
    binding = f"it binds as {ours} does" if ours else "it binds as the value that it is about does"
    return f"schemathesis's {theirs}, with --coverage N or --fuzz N; {binding}"


def _faults(identity: str) -> Iterator[str]:
    """The faults that the check named in the last proof, the ones first that few others name."""
    if identity in ledger.EXCUSED:
        yield f"none: {ledger.EXCUSED[identity]}"
    found = faults_of(ledger.read(), identity)
    for name, line in found[:SHOWN]:
        yield f"{name}  {line}"
    if len(found) > SHOWN:
        yield f"and {len(found) - SHOWN} more: docs/kill-matrix.md"


def _requirements(askers: list[Contract], identity: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("dialect", "keyword", "source", "interpretation"):
        table.add_column(column, overflow="fold")
    for contract in askers:
        row = contract.requirements[identity]
        table.add_row(contract.name, row.keyword.value, escape(row.source), row.interpretation or "")
    return table


def _some(found: list[str], noun: str) -> str:
    """How many there are, and the first of them."""
    if not found:
        return f"no {noun}"
    number = f"{len(found)} {noun}{'s' if len(found) > 1 else ''}: "
    return escape(f"{number}{', '.join(found[:SHOWN])}{', ...' if len(found) > SHOWN else ''}")


def _sentences(contract: Contract, identity: str) -> Iterator[str]:
    """The sentences that call for the check: those that name it, else those whose places it holds against servers."""
    traced = _trace(contract.name)
    named = [each.sentence for each in traced if identity in each.sentence.home.checks]
    behind = [each.sentence for each in traced if identity in each.checks]
    calling: list[Sentence] = named or behind
    for sentence in calling[:SHOWN]:
        yield f"{sentence.source}  {sentence.keyword.value}  {sentence.says}"
    if len(calling) > SHOWN:
        yield f"and {len(calling) - SHOWN} more: chatproof spec trace --dialect {contract.name}"


def _leave(message: str) -> NoReturn:
    click.echo(f"chatproof: {message}", err=True)
    sys.exit(USAGE)
