"""Write a matrix of deployments as Markdown. All text from servers and results files is written in code spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from conformance.report.comparison.deployment_matrix import count_changes, describe_counts, format_time
from conformance.report.writers.evidence import LONGEST_COMMAND
from conformance.report.writers.markdown import code_span
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance.report.comparison.deployment_matrix import DeploymentMatrix, RequirementComparison
    from conformance.report.comparison.deployment_runs import Deployment

COLUMNS: Final = ("PASS", "FAIL", "WARN", "UNTESTABLE", "NOT_EXERCISED")
MAX_FINDINGS: Final = 10
MAX_CHANGES: Final = 5


def write(matrix: DeploymentMatrix) -> str:
    """Return the page: the deployments, what is violated where, the first findings, and the trend of each one."""
    lines = [f"# chatproof: {format_quantity(len(matrix.deployments), 'deployment')}", "", *_deployments(matrix)]
    lines += ["", code_span(matrix.caveat, LONGEST_COMMAND)] if matrix.caveat else []
    shown = [row for row in matrix.rows if row.is_bad or row.differs]
    lines += ["", "## Violated or different", "", *_outcomes(matrix, shown)]
    for number, deployment in enumerate(matrix.deployments):
        lines += _findings(matrix, deployment, number)
    for deployment in matrix.deployments:
        if len(deployment.runs) > 1:
            lines += _trend(matrix, deployment)
    return "\n".join(lines) + "\n"


def _deployments(matrix: DeploymentMatrix) -> Iterator[str]:
    names = " | ".join(name.lower().replace("_", " ") for name in COLUMNS)
    yield f"| deployment | dialect | model | last run | chatproof | verdict | {names} | runs |"
    yield f"|{'---|' * (7 + len(COLUMNS))}"
    for item in matrix.deployments:
        run = item.latest
        numbers = " | ".join(str(run.counts.get(name, 0)) for name in COLUMNS)
        named = " | ".join(
            map(code_span, (item.name, item.dialect, run.model, format_time(run.started_at), run.version))
        )
        yield f"| {named} | {run.verdict} | {numbers} | {len(item.runs)} |"


def _outcomes(matrix: DeploymentMatrix, rows: Iterable[RequirementComparison]) -> Iterator[str]:
    labels = " | ".join(code_span(matrix.label(item)) for item in matrix.deployments)
    yield f"| requirement | {labels} |"
    yield f"|{'---|' * (1 + len(matrix.deployments))}"
    for row in rows:
        outcomes = " | ".join(cell.outcome or "not required" for cell in row.cells)
        yield f"| {code_span(row.id)} | {outcomes} |"


def _findings(matrix: DeploymentMatrix, deployment: Deployment, number: int) -> Iterator[str]:
    failing = [(row, row.cells[number]) for row in matrix.rows if row.cells[number].outcome == "FAIL"]
    causes = [(row, cell) for row, cell in failing if cell.row and not cell.row["causes"]]
    if not causes:
        return
    yield from ("", f"## Findings at {code_span(matrix.label(deployment))}", "")
    for row, cell in causes[:MAX_FINDINGS]:
        finding = cell.finding or {"expected": "", "got": cell.row["note"] if cell.row else ""}
        yield f"- {code_span(row.id)}: expected {code_span(finding['expected'])}, got {code_span(finding['got'])}"
        if cell.row and cell.row["command"]:
            yield f"  - {code_span(cell.row['command'], LONGEST_COMMAND)}"
    left = len(failing) - min(len(causes), MAX_FINDINGS)
    if left:
        yield f"- and {left} more, among them consequences of these"


def _trend(matrix: DeploymentMatrix, deployment: Deployment) -> Iterator[str]:
    yield from ("", f"## Runs of {code_span(matrix.label(deployment))}", "")
    yield from ("| run | chatproof | verdict | outcomes | worse | lost | better |", "|---|---|---|---|---|---|---|")
    for run, changes in deployment.changes():
        kinds = " | ".join(_names(names) for names in count_changes(changes).values())
        named = " | ".join(map(code_span, (format_time(run.started_at), run.version)))
        yield f"| {named} | {run.verdict} | {describe_counts(run)} | {kinds} |"


def _names(names: list[str]) -> str:
    some = ", ".join(map(code_span, names[:MAX_CHANGES]))
    return f"{some} and {len(names) - MAX_CHANGES} more" if len(names) > MAX_CHANGES else some
