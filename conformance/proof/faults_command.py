"""`chatproof faults run`: show that every check can fail, and that no correct server fails a check."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
import time
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import click
from rich.console import Console
from rich.markup import escape

from conformance.errors import HarnessError, UsageError
from conformance.plan.depth import DEPTHS
from conformance.proof import detection, kill_matrix
from conformance.proof.depths import depth_table
from conformance.proof.exit_codes import FAILURE, INTERNAL_ERROR, SUCCESS, USAGE
from conformance.proof.fault_host import list_dialects, start_fault_host
from conformance.proof.kill_table import KILL_TABLE, choose_fewest, read
from conformance.proof.mutation_testing import make_matrix, run_faults
from conformance.proof.progress import show_progress
from conformance.run.session.target import load_contract
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.plan.depth import Depth
    from conformance.proof.fault_host import HostedFault
    from conformance.proof.kill_matrix import FaultRow, KillMatrix
    from conformance.proof.mutation_testing import MutationResult

KILL_MATRIX: Final = Path("docs/kill-matrix.md")


@click.command(name="run", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--dialect", metavar="NAME", help="Only the faults of this dialect")
@click.option("--only", multiple=True, metavar="GLOB", help="Only these faults; checks may detect nothing (repeatable)")
@click.option(
    "--origin",
    metavar="NAME",
    help="Only the faults of one set: of another author, who has not read the checks, or `pairs` or `rewrites`, which "
    "are made from the contract; without it only the project's own",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --origin: write the result of each fault as JSON",
)
@click.option(
    "--depth",
    type=click.Choice(DEPTHS),
    default="thorough",
    show_default=True,
    help="With --origin: how much a run sends to each fault",
)
@click.option("--no-bounds", is_flag=True, help="Without the faults that are made from the bounds of parameters")
@click.option(
    "--write",
    "output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the kill matrix; with --dialect, --only or --no-bounds update only the rows of those faults",
)
@click.option("--known", is_flag=True, help="With --write: test known faults with their recorded scenarios only")
@click.option("--thorough", is_flag=True, help="Test each fault with all scenarios, as --write and --only do")
@click.option(
    "--fewest",
    is_flag=True,
    help="With --check: only the variations, new faults, and as many faults as let every check fail once",
)
@click.option(
    "--check", "reference", type=click.Path(path_type=Path), metavar="FILE", help="Fail if the kill matrix has changed"
)
def run(
    dialect: str | None,
    only: tuple[str, ...],
    origin: str | None,
    results: Path | None,
    depth: Depth,
    no_bounds: bool,
    known: bool,
    thorough: bool,
    fewest: bool,
    output: Path | None,
    reference: Path | None,
) -> None:
    """Run the suite against a server with one fault after another, over a real socket.

    Every fault must be detected by a check, every check must detect a fault, and correct servers must pass. A fault is
    tested with scenarios that showed it when the kill matrix was written, and with a sample of the others: those of its
    strongest check, and for each check those of two faults.

    --fewest leaves out faults whose checks other faults show to fail, and judges faultless servers by quick runs.

    Exit codes: 0 all of that holds, 1 it does not, 2 usage error, 5 internal error.
    """
    console = Console(highlight=False)
    started_s = time.monotonic()
    complete = not (dialect or only or no_bounds or origin)
    try:
        if origin and (reference or output):
            raise UsageError("--origin excludes --check and --write: the kill matrix has the project's own faults only")
        if results and not origin:
            raise UsageError("--results requires --origin")
        if depth != "thorough" and not origin:
            raise UsageError("--depth requires --origin; `chatproof faults depths` measures the project's own faults")
        if reference and not complete:
            raise UsageError("--check requires all faults: remove --dialect, --only and --no-bounds")
        if fewest and (thorough or not reference):
            raise UsageError("--fewest requires --check, and excludes --thorough")
        if known and (thorough or not output):
            raise UsageError("--known requires --write, and excludes --thorough")
        known_rows = _known_rows() if known or not (thorough or output or only) else {}
        sparing = not (thorough or output or only or origin)
        result, hosted = _run_faults(
            dialect,
            only,
            known_rows,
            depth,
            origin=origin or "",
            bounds=not no_bounds,
            complete=complete,
            sparing=sparing,
            fewest=fewest,
        )
    except UsageError as error:
        _exit_with(str(error), USAGE)
    except HarnessError as error:
        _exit_with(str(error), INTERNAL_ERROR)
    if fewest:  # which faults a check detects is then known from the table
        result = replace(result, matrix=make_matrix(result.matrix.rows, complete=False))
    _print_result(result, console)
    if origin is not None:
        _print_groups(detection.count_by_group(hosted, result.matrix.rows), console)
        middle, average = detection.count_findings(result.matrix.rows)
        console.print(f"findings of a detected fault: median {middle:g}, mean {average:.1f}")
    if results is not None:
        data = detection.to_data(hosted, result.matrix.rows, result.false_positives)
        results.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    matrix = result.matrix
    if fewest or (output is not None and not complete):
        existing = {fault.name for fault in hosted}
        matrix = make_matrix(kill_matrix.add_known_rows(matrix, read(), existing).rows, complete=True)
    changes = kill_matrix.compare_tables(read(), kill_matrix.to_data(matrix)) if reference else []
    if fewest and not changes:  # the tested faults are detected as before, by which of their checks may be chance
        matrix = make_matrix(kill_matrix.read_rows(read()), complete=True)
    note = _describe_false_positives(matrix, len(list_dialects()), result.false_positives)
    text = kill_matrix.render(matrix, [note], depth_table.render_summary(depth_table.read()))
    if reference is not None and not changes and (not reference.exists() or _head(_read(reference)) != _head(text)):
        changes = [f"{reference} does not match the kill table"]
    if changes:
        command = shlex.join(["chatproof", "faults", "run", "--write", str(reference)])
        console.print(f"[red]the kill matrix has changed; update it with: {escape(command)}[/red]", soft_wrap=True)
        for line in changes:
            console.print(f"  {escape(line)}", soft_wrap=True)
    if output is not None:
        output.write_text(text, encoding="utf-8")
        KILL_TABLE.write_text(json.dumps(kill_matrix.to_data(matrix), indent=1) + "\n", encoding="utf-8")
        console.print(f"[dim]written to {escape(str(output))} and {escape(KILL_TABLE.name)}[/dim]")
    if result.stale and output is None:
        console.print(_describe_stale(result.stale, reference or KILL_MATRIX), soft_wrap=True, markup=False)
    console.print(f"[dim]{time.monotonic() - started_s:.0f} s[/dim]")
    sys.exit(SUCCESS if result.holds and not changes else FAILURE)


def _describe_stale(faults: Sequence[str], matrix: Path) -> str:
    """Return which faults took longer, and the command that records other scenarios in the kill matrix of this file."""
    command = shlex.join(["chatproof", "faults", "run", "--known", "--write", str(matrix)])
    return (
        f"{format_quantity(len(faults), 'fault')} took longer, as the recorded scenarios no longer show what they did: "
        f"{', '.join(faults)}. `{command}` records others."
    )


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _head(text: str) -> str:
    """Return the matrix without its tables, which the kill table contains as well."""
    return text.partition("\n## ")[0]


def _run_faults(
    dialect: str | None,
    only: tuple[str, ...],
    known_rows: Mapping[str, FaultRow],
    depth: Depth,
    *,
    origin: str,
    bounds: bool,
    complete: bool,
    sparing: bool,
    fewest: bool,
) -> tuple[MutationResult, tuple[HostedFault, ...]]:
    """Run the selected faults, and return the result and all faults of the origin."""
    left_out = known_rows.keys() - choose_fewest(known_rows.values()) if fewest else frozenset()
    dialects = (load_contract(dialect).location,) if dialect else list_dialects()
    with show_progress("starting the fault host") as show, start_fault_host(dialects) as host:
        hosted = of_origin(host.faults, origin)
        faults = [
            fault
            for fault in hosted
            if set(fault.dialects) & set(dialects) and (bounds or fault.parameter is None)
            if fault.benign or fault.name not in left_out
        ]
        result = asyncio.run(
            run_faults(
                host,
                _select(faults, only),
                dialects,
                show,
                complete=complete,
                known_rows=known_rows,
                once=bool(origin),
                sparing=sparing,
                depth=depth,
                faultless_depth="quick" if fewest else "standard" if sparing else None,
            )
        )
        return result, hosted


def of_origin(faults: Sequence[HostedFault], origin: str) -> tuple[HostedFault, ...]:
    """Return the faults of one origin; "" is the project itself."""
    origins = sorted({fault.origin for fault in faults} - {""})
    if origin and origin not in origins:
        raise UsageError(f"unknown --origin {origin!r}: expected one of {', '.join(origins)}")
    return tuple(fault for fault in faults if fault.origin == origin)


def _known_rows() -> dict[str, FaultRow]:
    """Return the rows of the last complete run that can be verified: detected faults and variations."""
    return {row.name: row for row in kill_matrix.read_rows(read()) if row.shown_by or row.benign}


def _select(faults: list[HostedFault], patterns: Sequence[str]) -> list[HostedFault]:
    if not patterns:
        return faults
    selected = [fault for fault in faults if any(fnmatchcase(fault.name, pattern) for pattern in patterns)]
    if not selected:
        raise UsageError(f"--only {' '.join(patterns)}: no fault matches; `chatproof faults list` lists all faults")
    return selected


def _describe_false_positives(matrix: KillMatrix, dialects: int, false_positives: Sequence[str]) -> str:
    number = format_quantity(len(false_positives), "false positive") if false_positives else "no false positives"
    variations = format_quantity(len(matrix.variations), "variation")
    return f"the faultless server in {format_quantity(dialects, 'dialect')}, and {variations}: {number}"


def _print_result(result: MutationResult, console: Console) -> None:
    matrix = result.matrix
    for row in matrix.rows:
        missing = "" if row.benign else "[red]not detected[/red]"
        console.print(
            f"{escape(row.name)} [dim]{row.dialect}[/dim]  {', '.join(sorted(row.killers)) or missing}",
            soft_wrap=True,
        )
    detected = sum(bool(fault.killers) for fault in matrix.faults)
    faults = format_quantity(len(matrix.faults), "fault")
    console.print(f"{detected} of {faults} detected, mutation score {matrix.score:.1%}")
    console.print(_describe_false_positives(matrix, len(result.dialects), result.false_positives))
    for title, lines in (
        ("faults that no check detects", matrix.survivors),
        ("checks that detect no fault", matrix.idle),
        ("excused faults or checks that need no excuse", matrix.stale),
        ("false positives", result.false_positives),
    ):
        if lines:
            console.print(f"[red]{len(lines)} {title}:[/red]")
            for line in lines:
                console.print(f"  {escape(line)}", soft_wrap=True)


def _print_groups(counts: Mapping[str, Mapping[str, int]], console: Console) -> None:
    """Print how many faults of each group are detected, and how strongly."""
    for group, outcomes in sorted(counts.items()):
        numbers = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
        console.print(f"{group}: {numbers} [dim]of {sum(outcomes.values())}[/dim]")


def _exit_with(message: str, code: int) -> NoReturn:
    click.echo(f"chatproof: {message}", err=True)
    sys.exit(code)
