"""`chatproof faults run`: the proof that no check is blind and that no correct server is blamed."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click
from rich.console import Console
from rich.markup import escape

from conformance.check import gather
from conformance.errors import HarnessError, UsageError
from conformance.proof import host as hosting
from conformance.proof import matrix as matrices
from conformance.proof import trial
from conformance.proof.ledger import COMPANION, EXCUSED

if TYPE_CHECKING:
    from conformance.proof.host import Host, Shown
    from conformance.proof.matrix import Matrix, Trialled
    from conformance.proof.trial import Bench, Kill

HELD, FAILED, USAGE, OWN_ERROR = 0, 1, 2, 5
AT_ONCE = 2  # trials: the machine that must do with the fewest has two cores


@dataclass(frozen=True, slots=True)
class Proof:
    """The matrix, and what the innocent are blamed for: by name, in words."""

    matrix: Matrix
    blamed: tuple[str, ...]
    variations: int
    dialects: int
    whole: bool


@click.command(name="run", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--dialect", metavar="NAME", help="Show the faults in this dialect only.")
@click.option("--only", multiple=True, metavar="GLOB", help="Only these faults. Repeatable; checks may stay idle then.")
@click.option("--no-bounds", is_flag=True, help="Leave out the faults that the bounds of parameters make.")
@click.option("--write", "written", type=click.Path(path_type=Path), metavar="FILE", help="Write the matrix.")
@click.option("--check", "held", type=click.Path(path_type=Path), metavar="FILE", help="Fail if the matrix has moved.")
@click.option("--verbose", is_flag=True, help="Print what every check said of every fault.")
def run(
    dialect: str | None, only: tuple[str, ...], no_bounds: bool, written: Path | None, held: Path | None, verbose: bool
) -> None:
    """Show every fault to the suite over a real socket: each must be named, and nobody else blamed.

    Exit codes: 0 the proof holds, 1 it does not, 2 usage, 5 our own error.
    """
    console = Console(highlight=False)
    started_s = time.monotonic()
    try:
        proof = asyncio.run(_prove(dialect, only, console, bounds=not no_bounds, verbose=verbose))
    except UsageError as error:
        _leave(str(error), USAGE)
    except HarnessError as error:
        _leave(str(error), OWN_ERROR)
    text = matrices.render(proof.matrix, _said(proof))
    failed = _show(proof, console)
    console.print(f"[dim]{time.monotonic() - started_s:.0f} s[/dim]")
    if written is not None:
        written.write_text(text, encoding="utf-8")
        COMPANION.write_text(_companion(proof.matrix), encoding="utf-8")
        console.print(f"[dim]written to {escape(str(written))}[/dim]")
    if held is not None and (not held.exists() or held.read_text(encoding="utf-8") != text):
        console.print(f"[red]{escape(str(held))} has moved: chatproof faults run --write {escape(str(held))}[/red]")
        failed = True
    sys.exit(FAILED if failed else HELD)


def _companion(matrix: Matrix) -> str:
    return json.dumps(matrices.as_data(matrix), indent=1, ensure_ascii=False) + "\n"


async def _prove(dialect: str | None, only: tuple[str, ...], console: Console, *, bounds: bool, verbose: bool) -> Proof:
    with console.status("starting the server that shows the faults"):
        running = hosting.start()
        host = running.__enter__()
    try:
        return await _trials(host, dialect, only, console, bounds=bounds, verbose=verbose)
    finally:
        running.__exit__(None, None, None)


async def _trials(
    host: Host, dialect: str | None, only: tuple[str, ...], console: Console, *, bounds: bool, verbose: bool
) -> Proof:
    known = hosting.dialects()
    if dialect is not None and dialect not in known:
        raise UsageError(f"--dialect {dialect!r} is unknown; there are: {', '.join(sorted(known))}")
    dialects = (dialect,) if dialect else known
    chosen = [each for each in host.faults if set(each.dialects) & set(dialects) and (bounds or each.about is None)]
    if only:
        chosen = [each for each in chosen if any(fnmatchcase(each.name, pattern) for pattern in only)]
        if not chosen:
            raise UsageError(f"--only {' '.join(only)} matches no fault; `chatproof faults list` shows them")
    benches: dict[str, Bench] = {}
    blamed: list[str] = []
    with console.status("judging the faultless server") as status:
        for name in dialects:
            benches[name] = await trial.bench(host, name)
            blamed += _innocent(f"the faultless server in {name}", benches[name].blamed)
            blamed += benches[name].errors
        done = 0
        places = asyncio.Semaphore(AT_ONCE)

        async def one(fault: Shown) -> tuple[Shown, str, frozenset[Kill]]:
            nonlocal done
            async with places:
                where = next(name for name in dialects if name in fault.dialects)
                kills = await trial.attempt(host, benches[where], fault)
                done += 1
                status.update(f"{done} of {len(chosen)} faults shown; last: {escape(fault.name)}")
                if verbose:
                    for kill in sorted(kills, key=lambda each: each.requirement):
                        console.print(f"{fault.name} {kill.strength} {kill.requirement} {kill.words}", markup=False)
                return fault, where, kills

        trials = await asyncio.gather(*map(one, chosen))
    faults: list[Trialled] = []
    for fault, where, kills in trials:
        if fault.benign:
            blamed += _innocent(f"the variation {fault.name} in {where}", kills)
        else:
            faults.append(matrices.trialled(fault, where, _strongest(kills)))
    whole = bounds and not only and dialect is None
    checks = tuple(sorted(gather())) if whole else ()
    found = matrices.Matrix(tuple(faults), checks, EXCUSED if whole else {})
    return Proof(found, tuple(blamed), sum(each.benign for each in chosen), len(dialects), whole)


def _innocent(who: str, kills: frozenset[Kill]) -> list[str]:
    """What somebody is blamed for who did nothing wrong; what is only observed is no blame."""
    return [f"{who}: {each.requirement}: {each.words}" for each in kills if each.strength != "o"]


def _strongest(kills: frozenset[Kill]) -> dict[str, str]:
    found: dict[str, str] = {}
    for strength in ("o", "S", "M"):
        found |= {each.check: strength for each in kills if each.strength == strength}
    return found


def _said(proof: Proof) -> list[str]:
    found = f"{len(proof.blamed)} findings" if proof.blamed else "no findings"
    return [
        f"the faultless server in {proof.dialects} dialects, and {proof.variations} variations that every document "
        f"allows: {found}",
    ]


def _show(proof: Proof, console: Console) -> bool:
    """Prints the matrix; whether the proof fails."""
    matrix = proof.matrix
    for each in matrix.faults:
        killers = ", ".join(sorted(each.killers)) or "[red]nobody[/red]"
        console.print(f"{escape(each.name)} [dim]{each.dialect}[/dim]  {killers}", soft_wrap=True)
    named = len(matrix.faults) - len(matrix.survivors)
    console.print(f"{named} of {len(matrix.faults)} faults named, mutation score {matrix.score:.1%}")
    for title, names in (
        ("faults that nobody names", matrix.survivors),
        ("checks that name nothing", matrix.idle),
        ("blamed without a fault", proof.blamed),
    ):
        if names:
            console.print(f"[red]{len(names)} {title}:[/red]")
            for name in names:
                console.print(f"  {escape(name)}", soft_wrap=True)
    stale = [check for check in matrix.excused if matrix.killed_by(check)]
    if stale:
        console.print(f"[red]excused, but not idle: {', '.join(stale)}[/red]")
    return not matrix.holds or bool(proof.blamed) or bool(stale)


def _leave(message: str, code: int) -> NoReturn:
    click.echo(f"chatproof: {message}", err=True)
    sys.exit(code)
