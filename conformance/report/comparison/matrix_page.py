"""Write a matrix of deployments as one HTML page, with the same policy and style as the page of a check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.report.comparison.deployment_matrix import BAD, count_changes, describe_counts, format_time
from conformance.report.writers.evidence import LONGEST_COMMAND, neutralize
from conformance.report.writers.pages.page_exchanges import make_id
from conformance.report.writers.pages.page_template import render_page
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.report.comparison.deployment_matrix import DeploymentMatrix, MatrixCell, RequirementComparison
    from conformance.report.comparison.deployment_runs import Deployment, DeploymentRun

LONGEST: Final = 400
SHOWN_CAUSES: Final = 3
SHORT: Final = {"NOT_EXERCISED": "n/e", "NOT_APPLICABLE": "n/a", "UNTESTABLE": "untested", "OBSERVED": "seen"}
"""Words of the table for long outcomes."""
BARS: Final = ("FAIL", "ERROR", "UNTESTABLE", "WARN", "WAIVED", "OBSERVED", "PASS")
"""The outcomes that a bar of a run shows, from left to right."""


def write(matrix: DeploymentMatrix, pages: Mapping[Path, str] | None = None) -> str:
    """Return the page. pages: the addresses of the pages of runs by results file, if they are published with it."""
    links = pages or {}
    taken: set[str] = set()
    deployments = [
        {
            "id": make_id("deployment", matrix.label(item), taken),
            "label": _plain(matrix.label(item)),
            "name": _plain(item.name),
            "dialect": _plain(item.dialect),
            "url": _plain(item.latest.url),
            "model": _plain(item.latest.model),
            "verdict": item.latest.verdict,
            "counts": describe_counts(item.latest),
            "page": links.get(item.latest.file),
            "runs": list(_runs(item, links)),
        }
        for item in matrix.deployments
    ]
    rows = [_row(row, matrix.deployments, deployments, taken) for row in matrix.rows]
    conformant = sum(item.latest.verdict == "conformant" for item in matrix.deployments)
    return render_page(
        "matrix",
        deployments=deployments,
        rows=rows,
        topics=sorted({row["topic"] for row in rows}),
        headline=f"{conformant} of {format_quantity(len(deployments), 'deployment')} conformant.",
        violated=" ".join(filter(None, (_describe_violated(matrix), _plain(matrix.caveat)))),
    )


def _describe_violated(matrix: DeploymentMatrix) -> str:
    """Return how many requirements are violated, and how many have different outcomes, in words."""
    violated, differing = sum(row.is_bad for row in matrix.rows), sum(row.differs for row in matrix.rows)
    number = format_quantity(len(matrix.rows), "requirement")
    return (
        f"{violated} of {number} {'is' if violated == 1 else 'are'} violated by one or more, "
        f"{differing} {'has' if differing == 1 else 'have'} different outcomes."
    )


def _row(
    row: RequirementComparison, deployments: Sequence[Deployment], shown: list[dict[str, Any]], taken: set[str]
) -> dict[str, Any]:
    cells = [_cell(cell, item, label) for cell, item, label in zip(row.cells, deployments, shown, strict=True)]
    return {
        "id": make_id("requirement", row.id, taken),
        "name": _plain(row.id),
        "topic": _plain(row.topic),
        "keywords": ", ".join(row.keywords),
        "summary": _plain(row.summary),
        "bad": row.is_bad,
        "differs": row.differs,
        "changed": row.has_changed,
        "cells": cells,
        "detailed": any(cell["shown"] for cell in cells),
    }


def _cell(cell: MatrixCell, deployment: Deployment, label: dict[str, Any]) -> dict[str, Any]:
    row = cell.row or {"note": "", "causes": (), "command": None, "id": ""}
    finding = cell.finding
    changed = len(set(cell.history)) > 1
    dates = [_plain(format_time(run.started_at)) for run in deployment.runs]
    return {
        "label": label["label"],
        "page": label["page"] and f"{label['page']}#{make_id('requirement', row['id'], set())}",
        "outcome": cell.outcome,
        "word": SHORT.get(cell.outcome, cell.outcome.lower()),
        "shown": cell.outcome in BAD or changed or finding is not None,
        "note": _plain(row["note"]),
        "causes": _plain(", ".join(row["causes"][:SHOWN_CAUSES])),
        "finding": finding and {name: _plain(finding[name]) for name in ("exchange", "where", "expected", "got")},
        "command": row["command"] and neutralize(row["command"], LONGEST_COMMAND),
        "history": list(zip(dates, cell.history, strict=True)) if changed else [],
    }


def _runs(deployment: Deployment, links: Mapping[Path, str]) -> Iterator[dict[str, Any]]:
    for run, changes in deployment.changes():
        yield {
            "at": _plain(format_time(run.started_at)),
            "verdict": run.verdict,
            "version": _plain(run.version),
            "model": _plain(run.model),
            "requests": run.requests,
            "counts": describe_counts(run),
            "page": links.get(run.file),
            "bars": list(_bars(run)),
            "changes": [(kind, [_plain(name) for name in names]) for kind, names in count_changes(changes).items()],
        }


def _bars(run: DeploymentRun) -> Iterator[dict[str, str]]:
    """Yield the parts of a bar: how many of the judged requirements have each outcome."""
    counts = {name: run.counts.get(name, 0) for name in BARS}
    total, left = max(1, sum(counts.values())), 0.0
    for name, count in counts.items():
        width = 100 * count / total
        if count:
            yield {"outcome": name, "left": f"{left:.2f}", "width": f"{width:.2f}"}
        left += width


def _plain(value: Any) -> str:
    return neutralize(str(value), LONGEST)
