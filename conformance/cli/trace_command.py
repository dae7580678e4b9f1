"""Trace: every sentence of a document, its home, and the scenarios that exercise it. `chatproof spec trace`.

A sentence is dangling when its home names a check that does not exist or is no requirement of the dialect, or a place
where nothing stands. Scenarios are those of a server that declares every capability.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from conformance.errors import UsageError
from conformance.judge.check_registry import gather_checks
from conformance.plan.capabilities import Declaration
from conformance.plan.coverage_map import Reach
from conformance.run.session import contract_of, draft
from openapi.contract.contract import names
from openapi.contract.resolution import resolve
from openapi.contract.sentence import is_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.check import Check
    from conformance.plan.plan import Assertion
    from openapi.contract.contract import Contract, Keyword
    from openapi.contract.sentence import Home, Sentence

KINDS = ("check", "schema", "excluded", "homeless")
LOST, USAGE = 1, 2
WIDE = 200  # columns where the output is no terminal, so that most rows stay on one line


@dataclass(frozen=True, slots=True)
class Traced:
    """A sentence and what stands behind it. `dangling`: what its home names and nobody has, in words."""

    sentence: Sentence
    assertions: tuple[Assertion, ...]
    dangling: tuple[str, ...]

    @property
    def checks(self) -> tuple[str, ...]:
        """The checks that judge it: those it names, or those that hold its place against a server."""
        return tuple(dict.fromkeys(assertion.check.id for assertion in self.assertions))

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The scenarios that exercise it, in the order of sending."""
        return tuple(dict.fromkeys(assertion.scenario.id for assertion in self.assertions))

    @property
    def keywords(self) -> tuple[Keyword, ...]:
        """How binding the requirements behind it are."""
        return tuple(dict.fromkeys(assertion.requirement.keyword for assertion in self.assertions))

    @property
    def lost(self) -> bool:
        """Whether nothing keeps watch over it although something should."""
        return self.sentence.home.kind == "homeless" or bool(self.dangling)

    @property
    def complaint(self) -> str:
        """What is wrong with a lost sentence, on one line."""
        return f"{self.sentence.id}: {'; '.join(self.dangling) or 'a sentence without a home'}"


def everything(contract: Contract) -> Declaration:
    """The declaration of a server that lacks nothing."""
    return Declaration(frozenset(contract.capabilities), frozenset(), "the trace")


def trace(contract: Contract) -> tuple[Traced, ...]:
    """Every sentence of the dialect's document with what stands behind it, in the order of the document."""
    checks, tree, reach = gather_checks(), resolve(contract.name), reach_of(contract)
    return tuple(
        Traced(
            sentence, tuple(_assertions(sentence.home, reach)), tuple(_dangling(sentence.home, contract, checks, tree))
        )
        for sentence in contract.sentences
    )


def reach_of(contract: Contract) -> Reach:
    """What the plan for a server that lacks nothing judges in this dialect."""
    return Reach(contract, draft(contract, everything(contract)))


def _assertions(home: Home, reach: Reach) -> Iterator[Assertion]:
    for check in home.checks:
        yield from reach.of_check(check)
    for place in home.places:
        yield from reach.of_place(place)


def _dangling(home: Home, contract: Contract, checks: Mapping[str, Check], tree: dict[str, Any]) -> Iterator[str]:
    for check in home.checks:
        if check not in checks:
            yield f"no check is called {check}"
        elif check not in contract.requirements:
            yield f"{check} is no requirement of {contract.name}"
    for place in home.places:
        if not is_place(tree, place):
            yield f"nothing stands at {place}"
    if home.excluded is not None and not home.excluded.strip():
        yield "excluded without a reason"


def count(found: tuple[Traced, ...]) -> dict[str, int]:
    """How many sentences there are, of each kind of home, and how many dangle."""
    kinds = {kind: sum(each.sentence.home.kind == kind for each in found) for kind in KINDS}
    return {"sentences": len(found), **kinds, "dangling": sum(bool(each.dangling) for each in found)}


def in_words(home: Home) -> str:
    """A home on one line."""
    if home.kind == "homeless":
        return "homeless"
    return f"{home.kind}: {home.excluded or ', '.join((*home.checks, *home.places))}"


@click.command(name="trace")
@click.option("--dialect", metavar="NAME", help="Only the document of this dialect. Default: all.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(dialect: str | None, form: str) -> None:
    """Every sentence of the documents: its home, and how many scenarios exercise it.

    Exits with 1 when a sentence has no home, or one that does not exist.
    """
    try:
        chosen = [contract_of(dialect)] if dialect else [contract_of(name) for name in dict.fromkeys(names().values())]
    except UsageError as error:
        click.echo(f"chatproof: {error}", err=True)
        sys.exit(USAGE)
    found = {contract.name: (contract, trace(contract)) for contract in chosen}
    if form == "json":
        rows = {name: _data(contract, traced) for name, (contract, traced) in found.items()}
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
        for contract, traced in found.values():
            if dialect or traced:
                console.print(_table(contract, traced))
        for name, (_, traced) in found.items():
            for each in traced:
                if each.lost:
                    console.print(f"[red]{escape(f'{name}: {each.complaint}')}[/red]", soft_wrap=True)
        for name, (_, traced) in found.items():
            console.print(_summary(name, traced), soft_wrap=True)
        if len(found) > 1:
            every = tuple(each for _, traced in found.values() for each in traced)
            console.print(_summary("all", every), soft_wrap=True)
    sys.exit(LOST if any(each.lost for _, traced in found.values() for each in traced) else 0)


def _table(contract: Contract, found: tuple[Traced, ...]) -> Table:
    title = f"{contract.name}: what {contract.document.id} says"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="dim")
    for column in ("sentence", "keyword", "says", "home", "scenarios", "source"):
        table.add_column(column, overflow="fold", justify="right" if column == "scenarios" else "left")
    for each in found:
        sentence, home = each.sentence, escape(in_words(each.sentence.home))
        home = f"[red]{home}[/red]" if each.lost else home
        number = str(len(each.scenarios)) if each.scenarios else "-"
        anchor = sentence.source.removeprefix(contract.document.id)
        table.add_row(sentence.id, sentence.keyword.value, escape(sentence.says), home, number, escape(anchor))
    return table


def _summary(name: str, found: tuple[Traced, ...]) -> str:
    said = ", ".join(f"{number} {word}" for word, number in count(found).items())
    colour = "red" if any(each.lost for each in found) else "green"
    return f"[{colour}]{name}: {said}[/{colour}]"


def _data(contract: Contract, found: tuple[Traced, ...]) -> dict[str, Any]:
    return {
        "document": contract.document.id,
        "sha256": contract.document.sha256,
        "counts": count(found),
        "sentences": [
            {
                "id": each.sentence.id,
                "keyword": each.sentence.keyword.value,
                "says": each.sentence.says,
                "source": each.sentence.source,
                "reading": each.sentence.interpretation,
                "home": {"kind": each.sentence.home.kind, "of": _of(each.sentence.home)},
                "dangling": list(each.dangling),
                "checks": list(each.checks),
                "scenarios": list(each.scenarios),
            }
            for each in found
        ],
    }


def _of(home: Home) -> list[str] | str | None:
    return home.excluded if home.excluded is not None else [*home.checks, *home.places]
