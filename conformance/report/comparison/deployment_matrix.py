"""Compare deployments requirement by requirement: one row for each requirement, one cell for each deployment."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from conformance.report.writers.outcome_changes import BETTER, LOST, WORSE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conformance.report.comparison.deployment_runs import Deployment, DeploymentRun

BAD: Final = ("FAIL", "ERROR", "WARN", "WAIVED")
JUDGED: Final = (*BAD, "PASS", "OBSERVED")
SHOWN_CHANGES: Final = (WORSE, LOST, BETTER)


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One requirement at one deployment. `row` is that of the last run; None if its dialect does not have it.

    history: the outcomes of all runs, the oldest first; empty for a run without the requirement.
    """

    row: dict[str, Any] | None
    history: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """The outcome in the last run; empty without the requirement."""
        return "" if self.row is None else str(self.row["outcome"])

    @property
    def finding(self) -> dict[str, Any] | None:
        """The first finding of the last run."""
        return self.row["findings"][0] if self.row is not None and self.row["findings"] else None


@dataclass(frozen=True, slots=True)
class RequirementComparison:
    """One requirement at all deployments. `summary` is the claim as the first dialect that has it states it."""

    id: str
    topic: str
    keywords: tuple[str, ...]
    summary: str
    cells: tuple[MatrixCell, ...]

    @property
    def differs(self) -> bool:
        """Whether the deployments that were judged have different outcomes."""
        return len({cell.outcome for cell in self.cells if cell.outcome in JUDGED}) > 1

    @property
    def is_bad(self) -> bool:
        """Whether it is violated at one or more deployments."""
        return any(cell.outcome in BAD or bool(cell.row and cell.row["fails"]) for cell in self.cells)

    @property
    def has_changed(self) -> bool:
        """Whether the runs of one deployment have different outcomes."""
        return any(len(set(cell.history)) > 1 for cell in self.cells)


@dataclass(frozen=True, slots=True)
class DeploymentMatrix:
    """The deployments, and all requirements of their dialects: those violated by most deployments first."""

    deployments: tuple[Deployment, ...]
    rows: tuple[RequirementComparison, ...]

    @property
    def caveat(self) -> str:
        """Why the numbers of the last runs cannot be compared; empty if they judged to the same extent."""
        extents: dict[str, list[str]] = {}
        for item in self.deployments:
            extents.setdefault(item.latest.extent, []).append(self.label(item))
        if len(extents) < 2:
            return ""
        listed = "; ".join(f"{extent}: {', '.join(labels)}" for extent, labels in extents.items())
        return f"The runs judged to different extents, so their numbers cannot be compared ({listed})."

    def label(self, deployment: Deployment) -> str:
        """Return the name of a deployment, and its dialect if the name alone does not identify it."""
        same = sum(other.name == deployment.name for other in self.deployments)
        dialects = {other.dialect for other in self.deployments}
        return f"{deployment.name} ({deployment.dialect})" if same > 1 or len(dialects) > 1 else deployment.name


def compare_deployments(deployments: Sequence[Deployment]) -> DeploymentMatrix:
    """Return the comparison of the last runs, and the history of each requirement."""
    identities = dict.fromkeys(name for item in deployments for run in item.runs for name in run.rows)
    rows = [_compare_requirement(identity, deployments) for identity in identities]
    rows.sort(key=lambda row: (-sum(cell.outcome in BAD for cell in row.cells), row.id))
    return DeploymentMatrix(tuple(deployments), tuple(rows))


def count_changes(run_changes: Iterable[Any]) -> dict[str, list[str]]:
    """Return the requirements that got worse, are no longer judged, or got better, by the kind of change."""
    return {kind: [change.id for change in run_changes if change.kind == kind] for kind in SHOWN_CHANGES}


def describe_counts(run: DeploymentRun) -> str:
    """Return the number of requirements with each outcome, on one line."""
    counts = Counter(row["outcome"] for row in run.rows.values())
    return ", ".join(f"{counts[name]} {name.lower().replace('_', ' ')}" for name in run.counts if counts[name])


def format_time(started_at: str) -> str:
    """Return the time of a run in UTC to the minute; a time in another form unchanged."""
    try:
        return f"{datetime.fromisoformat(started_at).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    except ValueError:
        return started_at


def _compare_requirement(identity: str, deployments: Sequence[Deployment]) -> RequirementComparison:
    cells = tuple(
        MatrixCell(
            deployment.latest.rows.get(identity),
            tuple(run.rows[identity]["outcome"] if identity in run.rows else "" for run in deployment.runs),
        )
        for deployment in deployments
    )
    known = [run.rows[identity] for item in deployments for run in reversed(item.runs) if identity in run.rows]
    keywords = tuple(dict.fromkeys(row["keyword"] for row in known))
    return RequirementComparison(identity, known[0]["check"].partition(".")[0], keywords, known[0]["summary"], cells)
