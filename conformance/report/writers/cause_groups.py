"""Group requirements by the cause of their failure, and put the numbers of a verdict into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STATES: Final = {
    "not_exercised": "not exercised",
    "not_declared": "not declared",
    "not_sent": "not sent",
    "excluded": "excluded",
}
"""What happened to the sentences that were not judged."""
SHOWN_CAPABILITIES: Final = 6
MOST_CAUSES: Final = 12
"""Causes that a report shows with their evidence in front of its lists; a server without validation has a hundred."""


@dataclass(frozen=True, slots=True)
class CauseGroup:
    """A row of the results, and the rows that fail as a consequence."""

    row: dict[str, Any]
    consequences: tuple[dict[str, Any], ...]

    @property
    def title(self) -> str:
        """The number of consequences in words."""
        number = len(self.consequences)
        return f"{number} {'consequence' if number == 1 else 'consequences'}"

    @property
    def fails(self) -> bool:
        """Whether the row or a consequence fails the run."""
        return any(row["fails"] for row in (self.row, *self.consequences))


def group_rows(judged: dict[str, Any]) -> list[CauseGroup]:
    """Return the rows that are not a consequence, each with its consequences, in the order of the rows."""
    rows = {row["id"]: row for row in judged["requirements"]}
    groups = {cause["requirement"]: cause["consequences"] for cause in judged["causes"]}
    nested = {name for names in groups.values() for name in names}
    return [
        CauseGroup(row, tuple(rows[other] for other in groups.get(name, ())))
        for name, row in rows.items()
        if name not in nested
    ]


def list_problems(judged: dict[str, Any]) -> list[CauseGroup]:
    """Return the causes that a reader has to act on, the most important first.

    A run that ended early leaves most rows untestable for that one reason; these are not listed.
    """
    early = judged["run"]["exhausted"] is not None
    problems = [group for group in group_rows(judged) if group.consequences or _is_problem(group.row, early)]
    return sorted(problems, key=lambda group: (not group.row["fails"], -len(group.consequences)))


def _is_problem(row: dict[str, Any], ended_early: bool) -> bool:
    return row["outcome"] in ("FAIL", "ERROR", "WARN", "WAIVED") or (row["fails"] and not ended_early)


def describe_causes(judged: dict[str, Any]) -> str:
    """Return how many requirements fail or warn, and for how many causes; empty if none does.

    What a run that ended early did not observe is not counted as failing, although it fails the run.
    """
    rows = judged["requirements"]
    unobserved = [row for row in rows if row["fails"] and _is_left_out(row)] if judged["run"]["exhausted"] else []
    failing = [row for row in rows if row["fails"] and row not in unobserved]
    warning = [row for row in rows if row["outcome"] == "WARN" and not row["fails"]]
    parts = []
    if failing:
        parts.append(f"{_count(failing, 'requirement fails', 'requirements fail')} for {_count_causes(failing)}")
    if warning:
        parts.append(f"{_count(warning, 'warning', 'warnings')} for {_count_causes(warning)}")
    if unobserved:
        parts.append(f"{len(unobserved)} not observed before the run ended")
    return ", ".join(parts)


def _is_left_out(row: dict[str, Any]) -> bool:
    """Whether a requirement was not observed, and no failure of another one explains it."""
    return row["outcome"] == "UNTESTABLE" and not row["causes"] and not row["findings"]


def describe_consequence(row: dict[str, Any]) -> str:
    """Return the first finding of a consequence, or why it could not be tested, on one line."""
    if not row["findings"]:
        return str(row["note"])
    first = row["findings"][0]
    return f"{first['exchange']} {first['where']}: expected {first['expected']}, got {first['got']}"


def other_causes(row: dict[str, Any]) -> str:
    """Return which further requirements explain a consequence; empty if one explains all of its findings."""
    return f"also explained by {', '.join(row['causes'][1:])}" if row["causes"][1:] else ""


def describe_document(judged: dict[str, Any]) -> Iterator[str]:
    """Yield lines that say how much of the document was judged. Older results do not state it."""
    counts = judged["document"]
    if counts is None or not counts["sentences"]:
        return
    others = [f"{counts[state]} {words}" for state, words in STATES.items() if counts[state]]
    total = f"{counts['judged']} of {counts['sentences']} sentences of {judged['target']['document']['id']} judged"
    yield f"{total}; {', '.join(others)}" if others else total
    undeclared = counts["undeclared_capabilities"]
    if undeclared and counts["judged"]:
        names = sorted(undeclared, key=lambda name: (-undeclared[name], name))
        some = ", ".join(f"{name} ({undeclared[name]})" for name in names[:SHOWN_CAPABILITIES])
        more = f" and {len(names) - SHOWN_CAPABILITIES} more" if len(names) > SHOWN_CAPABILITIES else ""
        origins = judged["target"].get("capability_origins", {})
        unknown = [name for name in names if origins.get(name, {}).get("status") == "unknown"]
        hint = f"; judge them with --capability +{unknown[0]}" if unknown else ""
        yield f"sentences about undeclared capabilities: {some}{more}{hint}"


def describe_caveats(results: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (name, text) for what a reader of the verdict must know besides."""
    if not results["target"]["tls_verified"]:
        yield "tls", "the server's certificate was not verified (--insecure)"
    if results["run"]["exhausted"]:
        yield "ended_early", results["run"]["exhausted"]


def _count(rows: Sequence[object], one: str, many: str) -> str:
    return f"{len(rows)} {one if len(rows) == 1 else many}"


def _count_causes(rows: Sequence[dict[str, Any]]) -> str:
    causes = {row["causes"][0] if row["causes"] else row["id"] for row in rows}
    return _count(list(causes), "cause", "causes")
