"""`chatproof spec trace`: every sentence of a document, what tests it, and the scenarios that exercise it.

A sentence is dangling if it names a check that does not exist or is not a requirement of the dialect, or a place of the
contract without a value. The scenarios are those of a server that declares every capability.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape
from rich.table import Table

from conformance.cli.exit_codes import USAGE
from conformance.errors import UsageError
from conformance.judge.check_registry import gather_checks
from conformance.plan.capabilities import DeclaredCapabilities
from conformance.plan.coverage_map import CoverageMap
from conformance.plan.traced_sentences import map_sentences
from conformance.run.drafting import draft
from conformance.run.session import load_contract
from openapi.console import make_console
from openapi.contract.contract import names

if TYPE_CHECKING:
    from conformance.plan.traced_sentences import TracedSentence
    from openapi.contract.contract import Contract
    from openapi.contract.sentence import Home

KINDS = ("check", "schema", "excluded", "uncovered")
UNTESTED = 1  # the exit code if a sentence is neither tested nor excluded


def declare_everything(contract: Contract) -> DeclaredCapabilities:
    """Return the declaration of a server that has every capability."""
    return DeclaredCapabilities(frozenset(contract.capabilities), frozenset(), "the trace")


def trace_sentences(contract: Contract) -> tuple[TracedSentence, ...]:
    """Return every sentence of the dialect's document with what tests it, for a server with every capability."""
    return map_sentences(contract, draft(contract, declare_everything(contract)), gather_checks())


def build_coverage_map(contract: Contract) -> CoverageMap:
    """Return the coverage of the plan for a server that declares every capability."""
    return CoverageMap(contract, draft(contract, declare_everything(contract)))


def count_kinds(traced: tuple[TracedSentence, ...]) -> dict[str, int]:
    """Count the sentences, those of each kind, and those that are dangling."""
    kinds = {kind: sum(item.sentence.home.kind == kind for item in traced) for kind in KINDS}
    return {"sentences": len(traced), **kinds, "dangling": sum(bool(item.dangling) for item in traced)}


def format_home(home: Home) -> str:
    """Return what tests a sentence, on one line."""
    if home.kind == "uncovered":
        return "uncovered"
    return f"{home.kind}: {home.excluded or ', '.join((*home.checks, *home.places))}"


@click.command(name="trace")
@click.option("--dialect", metavar="NAME", help="Only the document of this dialect (default: all)")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Format of the output",
)
def command(dialect: str | None, output_format: str) -> None:
    """Show every sentence of the documents: what tests it, and how many scenarios exercise it.

    Exit codes: 1 if a sentence is neither tested nor excluded, or names something that does not exist; otherwise 0.
    """
    try:
        chosen = (
            [load_contract(dialect)] if dialect else [load_contract(name) for name in dict.fromkeys(names().values())]
        )
    except UsageError as error:
        click.echo(f"chatproof: {error}", err=True)
        sys.exit(USAGE)
    traces = {contract.name: (contract, trace_sentences(contract)) for contract in chosen}
    every = tuple(item for _, traced in traces.values() for item in traced)
    if output_format == "json":
        rows = {name: _to_json(contract, traced) for name, (contract, traced) in traces.items()}
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        console = make_console()
        for contract, traced in traces.values():
            if dialect or traced:
                console.print(_table(contract, traced))
        for name, (_, traced) in traces.items():
            for item in traced:
                if item.is_lost:
                    console.print(f"[red]{escape(f'{name}: {item.problem}')}[/red]", soft_wrap=True)
        for name, (_, traced) in traces.items():
            console.print(_summary(name, traced), soft_wrap=True)
        if len(traces) > 1:
            console.print(_summary("all", every), soft_wrap=True)
    sys.exit(UNTESTED if any(item.is_lost for item in every) else 0)


def _table(contract: Contract, traced: tuple[TracedSentence, ...]) -> Table:
    title = f"{contract.name}: the sentences of {contract.document.id}"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="dim")
    for column in ("sentence", "keyword", "statement", "tested by", "scenarios", "source"):
        table.add_column(column, overflow="fold", justify="right" if column == "scenarios" else "left")
    for item in traced:
        sentence, home = item.sentence, escape(format_home(item.sentence.home))
        home = f"[red]{home}[/red]" if item.is_lost else home
        number = str(len(item.scenarios)) if item.scenarios else "-"
        anchor = sentence.source.removeprefix(contract.document.id)
        table.add_row(sentence.id, sentence.keyword.value, escape(sentence.says), home, number, escape(anchor))
    return table


def _summary(name: str, traced: tuple[TracedSentence, ...]) -> str:
    counts = ", ".join(f"{number} {kind}" for kind, number in count_kinds(traced).items())
    colour = "red" if any(item.is_lost for item in traced) else "green"
    return f"[{colour}]{name}: {counts}[/{colour}]"


def _to_json(contract: Contract, traced: tuple[TracedSentence, ...]) -> dict[str, Any]:
    return {
        "document": contract.document.id,
        "sha256": contract.document.sha256,
        "counts": count_kinds(traced),
        "sentences": [
            {
                "id": item.sentence.id,
                "keyword": item.sentence.keyword.value,
                "says": item.sentence.says,
                "source": item.sentence.source,
                "reading": item.sentence.interpretation,
                "home": {"kind": item.sentence.home.kind, "of": _home_value(item.sentence.home)},
                "dangling": list(item.dangling),
                "checks": list(item.checks),
                "scenarios": list(item.scenarios),
            }
            for item in traced
        ],
    }


def _home_value(home: Home) -> list[str] | str | None:
    return home.excluded if home.excluded is not None else [*home.checks, *home.places]
