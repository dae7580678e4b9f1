"""`chatproof spec prove`: show for every sentence that a server which breaks it is reported, and no other."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import cpu_count, get_context
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click
from rich.console import Console
from rich.markup import escape

from conformance.errors import HarnessError, UsageError
from conformance.proof.exit_codes import FAILURE, INTERNAL_ERROR, SUCCESS, USAGE
from conformance.proof.fault_host import start_fault_host
from conformance.proof.progress import show_progress
from conformance.proof.recorded_run import read_recorded_run
from conformance.proof.sentences import proof_table
from conformance.proof.sentences.live import show_faults
from conformance.proof.sentences.sentence_proof import prove_sentences
from conformance.proof.sentences.written import require_sentences
from conformance.run.session.target import load_contract
from openapi.contract.contract import load, names
from openapi.contract.page.page_coverage import mapped_documents
from openapi.contract.resolution import dialect_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.proof.sentences.sentence_proof import SentenceProof


@click.command(name="prove")
@click.option("--dialect", metavar="NAME", help="Only the document of this dialect (default: all vendor pages)")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["summary", "json"]),
    default="summary",
    show_default=True,
    help="Format of the output",
)
@click.option(
    "--write", "output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the table to FILE"
)
@click.option(
    "--check",
    "reference",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Fail if FILE is not the table that --write would write",
)
def command(dialect: str | None, output_format: str, output: Path | None, reference: Path | None) -> None:
    """Prove every sentence of the documents: its counterexamples are reported, and its witnesses are not.

    Counterexamples change recorded exchanges, or are faults of the reference server, which is started for them.

    Exit codes: 0 all sentences are proven, 1 one is not or the table has changed, 2 usage error, 5 internal error.
    """
    console, started_s = Console(highlight=False, stderr=output_format == "json"), time.monotonic()
    try:
        if dialect and (output or reference):
            raise UsageError("--write and --check require all documents: remove --dialect")
        dialects = [load_contract(dialect).name] if dialect else list_proven_dialects()
        proofs = prove(dialects)
        if not dialect:
            require_sentences(proof.sentence.id for group in proofs.values() for proof in group)
    except UsageError as error:
        _stop(str(error), USAGE)
    except HarnessError as error:
        _stop(str(error), INTERNAL_ERROR)
    if output_format == "json":
        rows = {name: [proof_table.to_json(proof) for proof in group] for name, group in proofs.items()}
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    for name, group in proofs.items():
        for proof in group:
            for problem in proof.problems:
                where = _locate(name, proof.sentence.id)
                console.print(f"[red]{escape(f'{where}: {proof.sentence.id}: {problem}')}[/red]", soft_wrap=True)
    every = [proof for group in proofs.values() for proof in group]
    for name, sentences in {**proofs, **({"all": every} if len(proofs) > 1 else {})}.items():
        colour = "red" if any(proof.status == "unproven" for proof in sentences) else "green"
        console.print(f"[{colour}]{escape(proof_table.summarize(name, sentences))}[/{colour}]", soft_wrap=True)
    exclusions = proof_table.count_exclusions(every)
    console.print(f"excluded: {', '.join(f'{number} {category}' for category, number in exclusions.items())}")
    text = proof_table.render(proofs)
    if output is not None:
        output.write_text(text, encoding="utf-8")
        console.print(f"[dim]written to {escape(str(output))}[/dim]")
    changed = reference is not None and (not reference.exists() or reference.read_text(encoding="utf-8") != text)
    if changed:
        console.print(f"[red]{reference} has changed; update it with: chatproof spec prove --write {reference}[/red]")
    console.print(f"[dim]{time.monotonic() - started_s:.0f} s[/dim]")
    sys.exit(FAILURE if changed or any(proof.status == "unproven" for proof in every) else SUCCESS)


def list_proven_dialects() -> list[str]:
    """Return the dialects whose document is a page with a map of its lines."""
    mapped = mapped_documents()
    return [name for name in dict.fromkeys(names().values()) if load(name).document.id in mapped]


def prove(dialects: Sequence[str]) -> dict[str, list[SentenceProof]]:
    """Prove the sentences of dialects, first with their recorded runs, on all processors, and then with live faults."""
    with show_progress("proving sentences with recorded runs") as show:
        # A process that has imported torch or has threads must not be forked.
        with ProcessPoolExecutor(min(len(dialects), cpu_count()), get_context("spawn")) as pool:
            proven = dict(zip(dialects, pool.map(_prove_recorded, dialects), strict=True))
        if any(proof.live for group in proven.values() for proof in group):
            show("starting the fault host")
            with start_fault_host() as host:
                return asyncio.run(show_faults(host, proven, show))
    return proven


def _prove_recorded(dialect: str) -> list[SentenceProof]:
    return list(prove_sentences(read_recorded_run(dialect)))


def _locate(dialect: str, sentence: str) -> str:
    """Return the file and the line of a sentence."""
    path = dialect_files()[dialect]
    lines = (Path(__file__).parents[3] / "openapi" / path).read_text(encoding="utf-8").splitlines()
    at = next((number for number, line in enumerate(lines, start=1) if line.strip() == f"- id: {sentence}"), 0)
    return f"openapi/{path}:{at}"


def _stop(message: str, code: int) -> NoReturn:
    click.echo(f"chatproof: {message}", err=True)
    sys.exit(code)
