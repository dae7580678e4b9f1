"""Write a matrix of deployments as JSON, Markdown and HTML. The JSON Schema is `conformance/matrix.schema.json`."""

from __future__ import annotations

import json
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from conformance.report.comparison import matrix_markdown, matrix_page
from conformance.report.comparison.deployment_matrix import count_changes

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.report.comparison.deployment_matrix import DeploymentMatrix, MatrixCell

SCHEMA_VERSION: Final = 1


def to_json(matrix: DeploymentMatrix) -> str:
    """Return the matrix as JSON: the deployments with their runs and changes, and each requirement at each of them."""
    content = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "chatproof", "version": version("chatproof")},
        "deployments": [
            {
                "name": deployment.name,
                "dialect": deployment.dialect,
                "url": deployment.latest.url,
                "model": deployment.latest.model,
                "verdict": deployment.latest.verdict,
                "runs": [
                    {
                        "started_at": run.started_at,
                        "verdict": run.verdict,
                        "counts": run.counts,
                        "requests": run.requests,
                        "version": run.version,
                        "file": run.file.as_posix(),
                        "changes": count_changes(changes),
                    }
                    for run, changes in deployment.changes()
                ],
            }
            for deployment in matrix.deployments
        ],
        "requirements": [
            {
                "id": row.id,
                "topic": row.topic,
                "keywords": list(row.keywords),
                "summary": row.summary,
                "deployments": [_cell(cell) for cell in row.cells],
            }
            for row in matrix.rows
        ],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def load_schema() -> dict[str, Any]:
    """Return the JSON Schema of the JSON form."""
    content: dict[str, Any] = json.loads(files("conformance").joinpath("matrix.schema.json").read_text("utf-8"))
    return content


def _cell(cell: MatrixCell) -> dict[str, Any] | None:
    """Return what is known of a requirement at a deployment; None if its dialect does not have the requirement."""
    if cell.row is None:
        return None
    names = ("outcome", "fails", "note", "causes", "findings", "command")
    return {**{name: cell.row[name] for name in names}, "history": list(cell.history)}


MATRIX_WRITERS: Final[dict[str, Callable[[DeploymentMatrix], str]]] = {
    "json": to_json,
    "markdown": matrix_markdown.write,
    "html": matrix_page.write,
}
