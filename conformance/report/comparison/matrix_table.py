"""Print a matrix of deployments in the terminal: the deployments by number, and what is violated or different."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from conformance.report.comparison.deployment_matrix import count_changes
from conformance.report.writers.terminal_text import STYLES, VERDICTS, sanitize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.report.comparison.deployment_matrix import DeploymentMatrix

MOST_ROWS: Final = 40
WORDS: Final = {"NOT_EXERCISED": "n/e", "NOT_APPLICABLE": "n/a", "UNTESTABLE": "untested", "OBSERVED": "seen", "": "-"}


def matrix_tables(matrix: DeploymentMatrix) -> Iterator[Table | Text]:
    """Yield the table of deployments, and that of the requirements with one numbered column for each of them."""
    yield _deployments(matrix)
    if matrix.caveat:
        yield Text(sanitize(matrix.caveat), "yellow")
    shown = [row for row in matrix.rows if row.is_bad or row.differs]
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("requirement", overflow="fold")
    for number in range(len(matrix.deployments)):
        table.add_column(str(number + 1))
    for row in shown[:MOST_ROWS]:
        words = [
            Text(WORDS.get(cell.outcome, cell.outcome.lower()), STYLES.get(cell.outcome, "dim")) for cell in row.cells
        ]
        table.add_row(Text(sanitize(row.id)), *words)
    if shown:
        yield table
    if len(shown) > MOST_ROWS:
        yield Text(f"and {len(shown) - MOST_ROWS} more: --report html=matrix.html shows all of them")
    if not shown:
        yield Text("no requirement is violated, and no outcome differs")


def _deployments(matrix: DeploymentMatrix) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    versions = {item.latest.version for item in matrix.deployments}
    others = ("chatproof",) if versions != {version("chatproof")} else ()  # the outcomes are those of its rules
    for name in ("", "deployment", "verdict", *others, "pass", "fail", "warn", "last of its runs"):
        table.add_column(name, overflow="fold")
    for number, item in enumerate(matrix.deployments, 1):
        run = item.latest
        (*_, (_, changes)) = item.changes()
        trend = ", ".join(f"{len(names)} {kind}" for kind, names in count_changes(changes).items() if names)
        ordinal = f"{len(item.runs)} of {len(item.runs)}" + (f": {trend}" if trend else "")
        table.add_row(
            str(number),
            Text(sanitize(matrix.label(item))),
            Text(run.verdict, VERDICTS[run.verdict]),
            *([Text(sanitize(run.version))] if others else []),
            *(str(run.counts.get(name, 0)) for name in ("PASS", "FAIL", "WARN")),
            ordinal if len(item.runs) > 1 else "only run",
        )
    return table
