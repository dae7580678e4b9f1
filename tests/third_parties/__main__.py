"""The command of `tox -e third-parties`."""

from __future__ import annotations

import platform
import signal
import sys
from pathlib import Path
from typing import Final
from urllib.parse import quote

import click

from reference_server.tiny import CHECKPOINT
from tests.third_parties import catalogue, matrix, page
from tests.third_parties.catalogue import ROOT
from tests.third_parties.program_run import ProgramRun, run_program
from tests.third_parties.server_run import ServerRun, run

TERMINATED: Final = 143
PAGE: Final = ROOT / "docs" / "third-party-servers.md"


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=ROOT / ".tox" / "third-party-software",
    show_default=True,
    help="Folder for environments, logs and results.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Server, client or suite to run (repeatable; default: all). The page is written to the folder.",
)
@click.option("--gateway-only", is_flag=True, help="Judge only the gateway in front of the servers.")
@click.option("--again", is_flag=True, help="Use the results of an earlier run, and only confirm them.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="NAME=FOLDER",
    help="Folder of a suite that no package registry has (repeatable).",
)
def main(folder: Path, only: tuple[str, ...], gateway_only: bool, again: bool, sources: tuple[str, ...]) -> None:
    """Install and run servers, clients and suites of other projects, and write docs/third-party-*.

    Ends with 1 if a finding has no attribution, is not confirmed or is a false positive, if the gateway is not
    conformant, or if a client fails in a way that is not known.
    """
    if Path.cwd() != ROOT:  # another checkout may come first among the places of modules
        raise click.UsageError(f"run it in the root of the repository, {ROOT}")
    servers, clients, suites = catalogue.servers(), catalogue.clients(), catalogue.suites()
    for name in only:
        if name not in {**servers, **clients, **suites}:
            raise click.BadParameter(f"unknown name {name!r}: expected {', '.join([*servers, *clients, *suites])}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # so that servers are stopped too
    folder = folder.resolve()
    checkouts = {name: Path(path).resolve() for name, _, path in (source.partition("=") for source in sources)}
    judged: list[ServerRun] = []
    for name, server in servers.items():
        if not only or name in only:
            judged.append(run(server, folder, click.echo, gateway_only=gateway_only, again=again))
    programs: list[ProgramRun] = []
    for name, program in {**clients, **suites}.items():
        if not gateway_only and (not only or name in only):
            programs.append(run_program(program, folder, checkouts, click.echo, again=again))
    results: list[ServerRun | ProgramRun] = [*judged, *programs]
    problems = [problem for result in results for problem in result.problems()]
    text = page.render(judged, programs).replace(str(CHECKPOINT), "./checkpoint")
    text = text.replace(quote(str(CHECKPOINT), safe=""), quote("./checkpoint", safe=""))
    text = text.replace(platform.platform(), "PLATFORM")  # mlx_lm.server states it in each answer
    if not only and not gateway_only:
        PAGE.write_text(text, encoding="utf-8")
        matrix.write_matrix(folder)
    else:
        (folder / "page.md").write_text(text, encoding="utf-8")
    for problem in problems:
        click.echo(problem)
    for result in results:
        if result.not_run is not None:
            click.echo(f"{result.name}: {result.not_run}")
    click.echo(f"problems: {len(problems)}")
    raise SystemExit(1 if problems else 0)


if __name__ == "__main__":
    main()
