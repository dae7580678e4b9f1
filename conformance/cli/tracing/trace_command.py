"""`chatproof spec trace`: every sentence of a document, what tests it, and the scenarios that exercise it.

A sentence is dangling if it names a check that does not exist or is not a requirement of the dialect, or a place of the
contract without a value. The scenarios are those of a server that declares every capability.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape
from rich.table import Table

from conformance.cli.exit_codes import USAGE
from conformance.cli.tracing.trace_page import write_html, write_text
from conformance.errors import UsageError
from conformance.judge.check_registry import gather_checks
from conformance.plan.capabilities import DeclaredCapabilities
from conformance.plan.coverage_map import CoverageMap
from conformance.plan.traced_page import count_lines, trace_passages
from conformance.plan.traced_sentences import map_sentences
from conformance.run.drafting import draft
from conformance.run.session.target import load_contract
from openapi.console import LegibleTable, make_console
from openapi.contract.contract import ContractError, names
from openapi.contract.page.page_coverage import find_problems, load_page_coverage, mapped_documents, split_page
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from conformance.plan.traced_sentences import TracedSentence
    from openapi.contract.contract import Contract
    from openapi.contract.sentence import Home

KINDS = ("check", "schema", "excluded", "uncovered")
UNTESTED = 1  # the exit code if a sentence is neither tested nor excluded, or a line of a page is not mapped


def declare_everything(contract: Contract) -> DeclaredCapabilities:
    """Return the declaration of a server that has every capability."""
    return DeclaredCapabilities(frozenset(contract.capabilities), frozenset(), "the trace")


def trace_sentences(contract: Contract) -> tuple[TracedSentence, ...]:
    """Return every sentence of the dialect's document with what tests it, for a server with every capability."""
    return map_sentences(contract, draft(contract, declare_everything(contract)), gather_checks(contract))


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
    "--page",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="With --format page or html: the pinned text of the page, so that its lines are shown too",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json", "page", "html"]),
    default="table",
    show_default=True,
    help="table and json list the sentences; page and html list the lines of the page with their sentences",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if a dialect has no sentences, so that nothing is traced")
def command(dialect: str | None, page: Path | None, output_format: str, strict: bool) -> None:
    """Show every sentence of the documents: its lines, what tests it, and how many scenarios exercise it.

    Exit codes: 1 if a sentence is neither tested nor excluded, or names something that does not exist, or if a line of
    a page is mapped neither to a sentence nor to a reason; otherwise 0.
    """
    try:
        if output_format in ("page", "html") and dialect is None:
            raise UsageError(f"--format {output_format} requires --dialect NAME: it shows one page")
        if page is not None and output_format not in ("page", "html"):
            raise UsageError("--page requires --format page or --format html")
        chosen = (
            [load_contract(dialect)] if dialect else [load_contract(name) for name in dict.fromkeys(names().values())]
        )
        if output_format in ("page", "html") and (document := chosen[0].document.id) not in mapped_documents():
            raise UsageError(f"--format {output_format}: the page of {document} is not mapped")
        traces = {contract.name: (contract, trace_sentences(contract)) for contract in chosen}
        if output_format in ("page", "html"):
            _print_page(*traces[chosen[0].name], page, output_format)
        elif output_format == "json":
            rows = {name: _to_json(contract, traced) for name, (contract, traced) in traces.items()}
            click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        else:
            _print_tables(traces, with_empty=dialect is not None)
        unmapped = [line for contract in chosen for line in _coverage_problems(contract, page)]
    except (UsageError, ContractError) as error:
        click.echo(f"chatproof: {error}", err=True)
        sys.exit(USAGE)
    untraced = [contract for contract in chosen if not contract.sentences]
    for line in (*unmapped, *map(_describe_untraced, untraced)):
        click.echo(line, err=True)
    lost = [item for _, traced in traces.values() for item in traced if item.is_lost]
    sys.exit(UNTESTED if lost or unmapped or (strict and untraced) else 0)


def _describe_untraced(contract: Contract) -> str:
    return f"{contract.name}: nothing is traced: the dialect states no sentences"


def _coverage_problems(contract: Contract, page: Path | None) -> list[str]:
    """Return what is wrong with the mapping of a contract's page, each as `file:line: problem`."""
    if contract.document.id not in mapped_documents():
        return []
    file = str(page) if page else contract.document.id
    problems = find_problems(load_page_coverage(contract.document.id), contract)
    return [f"{file}:{item.line}: {item.message}" if item.line else f"{file}: {item.message}" for item in problems]


def _print_page(contract: Contract, traced: tuple[TracedSentence, ...], page: Path | None, output_format: str) -> None:
    document = contract.document
    coverage = load_page_coverage(document.id)
    try:
        text = split_page(page.read_bytes(), document, coverage) if page else None
    except ContractError as error:
        raise UsageError(f"--page {page}: {error}") from error
    passages = trace_passages(coverage, traced, text)
    counts = count_lines(passages)
    if output_format == "html":
        click.echo(write_html(document, passages, counts))
        return
    for line in write_text(passages):
        click.echo(line)
    kinds = ", ".join(f"{counts[kind]} {kind}" for kind in counts)
    click.echo(f"{contract.name}: {format_quantity(sum(counts.values()), 'line')}, {kinds}")


def _print_tables(traces: dict[str, tuple[Contract, tuple[TracedSentence, ...]]], *, with_empty: bool) -> None:
    console = make_console()
    for contract, traced in traces.values():
        if with_empty or traced:
            console.print(LegibleTable(_table(contract, traced)))
    for name, (_, traced) in traces.items():
        for item in traced:
            if item.is_lost:
                console.print(f"[red]{escape(f'{name}: {item.problem}')}[/red]", soft_wrap=True)
    for name, (_, traced) in traces.items():
        console.print(_summary(name, traced), soft_wrap=True)
    if len(traces) > 1:
        console.print(_summary("all", tuple(item for _, traced in traces.values() for item in traced)), soft_wrap=True)


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
