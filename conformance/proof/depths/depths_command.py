"""`chatproof faults depths`: measure which faults a quick, a standard and a thorough run detect."""

from __future__ import annotations

import asyncio
import json
import time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from conformance.errors import UsageError
from conformance.plan.depth import DEPTHS
from conformance.proof import kill_matrix, kill_table
from conformance.proof.depths.depth_run import read_thorough, run_depth
from conformance.proof.depths.depth_table import DEPTH_TABLE, add_known, read, render_summary, replace_summary
from conformance.proof.exit_codes import exit_on_errors
from conformance.proof.fault_host import list_dialects, start_fault_host
from conformance.proof.progress import show_progress

if TYPE_CHECKING:
    from conformance.plan.depth import Depth
    from conformance.proof.depths.depth_run import DepthResult


@click.command(name="depths", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", multiple=True, metavar="GLOB", help="Only these faults (repeatable)")
@click.option("--depth", "chosen", type=click.Choice(DEPTHS), multiple=True, help="Only this depth (repeatable)")
@click.option(
    "--write",
    "output",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Write the figures into this kill matrix; with --only update only those faults",
)
def depths(only: tuple[str, ...], chosen: tuple[Depth, ...], output: Path | None) -> None:
    """Run the suite at each depth against one fault after another, and print how many faults each depth detects.

    It shows what a cheaper run costs. A fault that violates a MUST fails the run; one that violates only a SHOULD fails
    it with --strict. One that a document allows is only observed, and does not count. The figures of thorough runs are
    those of the kill table.

    Exit codes: 0 measured, 2 usage error, 5 internal error.
    """
    started_s = time.monotonic()
    selected: tuple[Depth, ...] = tuple(depth for depth in DEPTHS if depth in (chosen or DEPTHS))
    known = {row.name: row for row in kill_matrix.read_rows(kill_table.read()) if row.shown_by}
    results: dict[str, DepthResult] = {}
    with exit_on_errors():
        if output and chosen:
            raise UsageError("--write requires all depths: remove --depth")
        with show_progress("starting the fault host") as show, start_fault_host() as host:
            own = [fault for fault in host.faults if not (fault.origin or fault.benign)]
            faults = [fault for fault in own if not only or any(fnmatchcase(fault.name, pattern) for pattern in only)]
            if not faults:
                raise UsageError(f"--only {' '.join(only)}: no fault matches; `chatproof faults list` lists all faults")
            for depth in selected:
                if depth == "thorough":
                    results[depth] = asyncio.run(read_thorough(host, faults, known))
                else:
                    results[depth] = asyncio.run(run_depth(host, faults, list_dialects(), depth, known, show))
    table = {"faults": len(faults), "depths": {depth: result.as_data() for depth, result in results.items()}}
    click.echo("\n".join(render_summary(table)))
    missed = [fault.name for fault in faults if fault.name not in results[selected[-1]].strengths]
    if missed:
        click.echo(f"at most observed by a {selected[-1]} run: {', '.join(missed)}")
    if output is not None:
        if only:
            untested = {fault.name for fault in own} - {fault.name for fault in faults}
            table = add_known(table, read(), untested, len(own))
        DEPTH_TABLE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
        output.write_text(replace_summary(output.read_text(encoding="utf-8"), table), encoding="utf-8")
    click.echo(f"{time.monotonic() - started_s:.0f} s")
