"""`chatproof matrix`: compare the results of several deployments, and the runs of each one."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.cli import exit_codes
from conformance.report.comparison.deployment_matrix import compare_deployments
from conformance.report.comparison.deployment_runs import read_deployments
from conformance.report.comparison.matrix_table import matrix_tables
from conformance.report.comparison.matrix_writers import MATRIX_WRITERS
from conformance.report.comparison.site import require_separate_folder, write_site
from conformance.report.report_kinds import describe_kinds
from conformance.report.writers.report_files import parse_options, print_written, write_report
from openapi.console import make_console
from openapi.schema.quantity import format_quantity


@click.command(name="matrix", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("sources", nargs=-1, required=True, metavar="RESULTS...")
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="KIND=PATH",
    help=f"Report to write: {describe_kinds(MATRIX_WRITERS)} (repeatable)",
)
@click.option(
    "--site", type=click.Path(path_type=Path), help="Folder for a static site with a page for each run", metavar="DIR"
)
def matrix(sources: tuple[str, ...], reports: tuple[str, ...], site: Path | None) -> None:
    """Compare deployments requirement by requirement, and the runs of each deployment.

    RESULTS are results files, plain or gzipped, NAME=FILE, or folders of them. Runs of the same name and dialect are
    runs of one deployment. The name is NAME, or the subfolder of a file, or the address that was judged.

    Exit codes: 0, or 2 for a usage error: a file that is missing or invalid.
    """
    console = make_console()
    with exit_codes.report_errors():
        report_options = parse_options(reports, kinds=tuple(MATRIX_WRITERS))
        if site is not None:
            require_separate_folder(site, sources)
        compared = compare_deployments(read_deployments(sources))
        for item in matrix_tables(compared):
            console.print(item)
        for kind, path in report_options:
            write_report(path, MATRIX_WRITERS[kind](compared))
            print_written(kind, path, console)
        if site is not None:
            pages = write_site(compared, site)
            line = f"{format_quantity(pages, 'page')} written to {site}: open {site / 'index.html'}"
            console.print(line, style="dim", markup=False)
