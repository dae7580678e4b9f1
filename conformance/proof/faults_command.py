"""`chatproof faults run`: the proof that no check is blind and that no correct server is blamed."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click
from rich.console import Console
from rich.markup import escape

from conformance.errors import HarnessError, UsageError
from conformance.proof import fault_host as hosting
from conformance.proof import kill_matrix as matrices
from conformance.proof.kill_table import COMPANION, read
from conformance.proof.mutation_testing import partial, prove
from openapi.contract.contract import names
from openapi.did_you_mean import meant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.proof.fault_host import Shown
    from conformance.proof.kill_matrix import Matrix, Trialled
    from conformance.proof.mutation_testing import Proof

HELD, FAILED, USAGE, OWN_ERROR = 0, 1, 2, 5
TOLD_EVERY_S = 15.0  # where the output is no terminal


@click.command(name="run", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--dialect", metavar="NAME", help="Show the faults in this dialect only.")
@click.option("--only", multiple=True, metavar="GLOB", help="Only these faults. Repeatable; checks may stay idle then.")
@click.option("--no-bounds", is_flag=True, help="Leave out the faults that the bounds of parameters make.")
@click.option(
    "--write", "written", type=click.Path(path_type=Path), metavar="FILE", help="Write the matrix; of a part, its rows."
)
@click.option("--thorough", is_flag=True, help="Show each to all scenarios, as --write and --only do.")
@click.option("--check", "held", type=click.Path(path_type=Path), metavar="FILE", help="Fail if the matrix has moved.")
def run(
    dialect: str | None,
    only: tuple[str, ...],
    no_bounds: bool,
    thorough: bool,
    written: Path | None,
    held: Path | None,
) -> None:
    """Show every fault to the suite over a real socket: each must be named, and nobody else blamed.

    A fault is shown to the scenarios that showed it when the matrix was written, and to a sample of the others.

    Exit codes: 0 the proof holds, 1 it does not, 2 usage, 5 our own error.
    """
    console = Console(highlight=False)
    started_s = time.monotonic()
    whole = not (dialect or only or no_bounds)
    try:
        if held and not whole:
            raise UsageError("--check takes the whole proof: leave --dialect, --only and --no-bounds out")
        before = {} if thorough or written or only else _before()
        proof, names_shown = _proof(dialect, only, console, before, bounds=not no_bounds, whole=whole)
    except UsageError as error:
        _leave(str(error), USAGE)
    except HarnessError as error:
        _leave(str(error), OWN_ERROR)
    _show(proof, console)
    moved = matrices.moves(read(), matrices.as_data(proof.matrix)) if held else []
    matrix = proof.matrix
    if written is not None and not whole:
        rows = matrices.updated(matrix, read(), names_shown).rows
        matrix = partial(rows, whole=True)
    text = matrices.render(matrix, [_innocence(matrix, len(hosting.dialects()), proof.blamed)])
    if held is not None and not moved and (not held.exists() or _head(held) != _head_of(text)):
        moved = [f"{held} is not what the ledger says"]
    if moved:
        console.print(f"[red]the matrix has moved; chatproof faults run --write {escape(str(held))}[/red]")
        for line in moved:
            console.print(f"  {escape(line)}", soft_wrap=True)
    if written is not None:
        written.write_text(text, encoding="utf-8")
        COMPANION.write_text(json.dumps(matrices.as_data(matrix), indent=1) + "\n", encoding="utf-8")
        console.print(f"[dim]written to {escape(str(written))} and {escape(COMPANION.name)}[/dim]")
    console.print(f"[dim]{time.monotonic() - started_s:.0f} s[/dim]")
    sys.exit(HELD if proof.holds and not moved else FAILED)


def _head(path: Path) -> str:
    return _head_of(path.read_text(encoding="utf-8"))


def _head_of(text: str) -> str:
    """The matrix up to its tables, which the ledger holds too."""
    return text.partition("\n## ")[0]


def _proof(
    dialect: str | None,
    only: tuple[str, ...],
    console: Console,
    before: Mapping[str, Trialled],
    *,
    bounds: bool,
    whole: bool,
) -> tuple[Proof, frozenset[str]]:
    if dialect is not None and dialect not in names():
        raise UsageError(
            f"--dialect {dialect!r} is unknown; there are: {', '.join(sorted(names()))}{meant(dialect, names())}"
        )
    dialects = (names()[dialect],) if dialect else hosting.dialects()
    with console.status("starting the server that shows the faults") as status, hosting.start() as host:
        every = frozenset(fault.name for fault in host.faults)
        shown = [
            fault for fault in host.faults if set(fault.dialects) & set(dialects) and (bounds or fault.about is None)
        ]
        shown = _chosen(shown, only)
        tell = _teller(console, status.update)
        return asyncio.run(prove(host, shown, dialects, tell, whole=whole, before=before)), every


def _before() -> dict[str, Trialled]:
    """The rows that the last proof left: of what is named, or is a variation."""
    return {row.name: row for row in matrices.read_rows(read()) if row.shown_by or row.benign}


def _chosen(shown: list[Shown], only: Sequence[str]) -> list[Shown]:
    if not only:
        return shown
    found = [each for each in shown if any(fnmatchcase(each.name, pattern) for pattern in only)]
    if not found:
        raise UsageError(f"--only {' '.join(only)} matches no fault; `chatproof faults list` shows them")
    return found


def _teller(console: Console, update: Callable[[str], None]) -> Callable[[str], None]:
    """Shows progress: always at a terminal, else a line now and then."""
    told_s = time.monotonic()

    def tell(line: str) -> None:
        nonlocal told_s
        update(escape(line))
        if not console.is_terminal and time.monotonic() - told_s > TOLD_EVERY_S:
            told_s = time.monotonic()
            click.echo(line, err=True)

    return tell


def _innocence(matrix: Matrix, dialects: int, blamed: Sequence[str]) -> str:
    found = f"{len(blamed)} findings" if blamed else "no findings"
    return f"the faultless server in {dialects} dialects, and {len(matrix.variations)} variations: {found}"


def _show(proof: Proof, console: Console) -> None:
    matrix = proof.matrix
    for row in matrix.rows:
        nobody = "" if row.benign else "[red]nobody[/red]"
        console.print(
            f"{escape(row.name)} [dim]{row.dialect}[/dim]  {', '.join(sorted(row.killers)) or nobody}",
            soft_wrap=True,
        )
    named = sum(bool(fault.killers) for fault in matrix.faults)
    console.print(f"{named} of {len(matrix.faults)} faults named, mutation score {matrix.score:.1%}")
    console.print(_innocence(matrix, len(proof.dialects), proof.blamed))
    for title, found in (
        ("faults that nobody names", matrix.survivors),
        ("checks that name nothing", matrix.idle),
        ("excused without need", matrix.stale),
        ("blamed without a fault", proof.blamed),
    ):
        if found:
            console.print(f"[red]{len(found)} {title}:[/red]")
            for line in found:
                console.print(f"  {escape(line)}", soft_wrap=True)


def _leave(message: str, code: int) -> NoReturn:
    click.echo(f"chatproof: {message}", err=True)
    sys.exit(code)
