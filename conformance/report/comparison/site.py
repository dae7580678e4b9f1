"""Write a static site: the matrix of deployments, a page and a badge for each run, and the matrix as data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from conformance.errors import UsageError
from conformance.report.comparison import matrix_page
from conformance.report.comparison.matrix_writers import MATRIX_WRITERS
from conformance.report.results_file import read_results
from conformance.report.writers import badge
from conformance.report.writers.pages import check_page
from conformance.report.writers.report_files import write_report

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.report.comparison.deployment_matrix import DeploymentMatrix
    from conformance.report.comparison.deployment_runs import Deployment, DeploymentRun

UNSAFE_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9._-]+")
LONGEST_NAME: Final = 80


def write_site(matrix: DeploymentMatrix, folder: Path) -> int:
    """Write the site, and return the number of its pages. Raise UsageError for a file that cannot be written."""
    pages: dict[Path, str] = {}
    for deployment in matrix.deployments:
        for run in deployment.runs:
            pages[run.file] = f"runs/{_file_name(deployment, run, pages.values())}.html"
    for file, address in pages.items():
        results = read_results(file)
        write_report(folder / address, check_page.write(results))
        write_report((folder / "badges" / Path(address).name).with_suffix(".svg"), badge.write(results))
    write_report(folder / "matrix.json", MATRIX_WRITERS["json"](matrix))
    write_report(folder / "matrix.md", MATRIX_WRITERS["markdown"](matrix))
    write_report(folder / "index.html", matrix_page.write(matrix, pages))
    return len(pages) + 1


def require_separate_folder(folder: Path, sources: Iterable[str]) -> None:
    """Raise UsageError if the site would be among the results that the next call reads."""
    for source in sources:
        place = Path(source.partition("=")[2] or source).resolve()
        if place.is_dir() and folder.resolve().is_relative_to(place):
            raise UsageError(f"invalid --site {folder}: it is in {source}, whose files are read as results")


def _file_name(deployment: Deployment, run: DeploymentRun, taken: Iterable[str]) -> str:
    """Return a name of a file, without its ending, that differs from those that are taken."""
    text = f"{deployment.name}-{deployment.dialect}-{run.started_at[:10]}"
    base = UNSAFE_IN_NAMES.sub("_", text)[-LONGEST_NAME:].lstrip(".-")
    names = {Path(address).stem for address in taken}
    name, number = base, 2
    while name in names:
        name, number = f"{base}-{number}", number + 1
    return name
