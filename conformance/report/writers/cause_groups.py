"""Group requirements by the cause of their failure, and put the numbers of a verdict into words.

The headline of a verdict counts the groups that `list_problems` lists, each once: its numbers of causes and of internal
errors add up to the length of the list that every report shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from conformance.plan.capabilities import PLACES
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

STATES: Final = {
    "not_exercised": "not exercised",
    "not_declared": "not declared",
    "not_sent": "not sent",
    "excluded": "excluded",
}
"""What happened to the sentences that were not judged."""
SHOWN_CAPABILITIES: Final = 6
ProblemKind = Literal["failure", "untestable", "error", "waived", "warning"]
COUNTED: Final[tuple[tuple[ProblemKind, tuple[str, ...], str, str], ...]] = (
    ("failure", ("FAIL",), "requirement fails", "requirements fail"),
    ("untestable", ("UNTESTABLE",), "requirement is untestable", "requirements are untestable"),
    ("warning", ("WARN", "UNTESTABLE"), "warning", "warnings"),
    ("waived", ("WAIVED",), "waived failure", "waived failures"),
    ("error", ("ERROR",), "internal error", "internal errors"),
)
"""What the headline counts: the kind of a problem, the outcomes of its rows that count, and their name."""
EXPLAINED: Final = (
    ("WARN", "warning", "warnings"),
    ("UNTESTABLE", "untestable requirement", "untestable requirements"),
)
"""What failures may explain without failing itself: the outcome and its name."""
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
        return format_quantity(len(self.consequences), "consequence")

    @property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """The cause and its consequences."""
        return (self.row, *self.consequences)

    @property
    def fails(self) -> bool:
        """Whether the row or a consequence fails the run."""
        return any(row["fails"] for row in self.rows)

    @property
    def kind(self) -> ProblemKind:
        """What a reader has to do about it: the same in the headline and in the lists of a report."""
        if self.fails:
            failing = {row["outcome"] for row in self.rows if row["fails"]}
            return "untestable" if failing == {"UNTESTABLE"} else "failure"
        kinds: dict[str, ProblemKind] = {"ERROR": "error", "WAIVED": "waived"}
        return kinds.get(self.row["outcome"], "warning")


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

    What could not be tested is counted apart, although it may fail the run.
    """
    problems = list_problems(judged)
    parts: list[str] = []
    for kind, outcomes, noun, plural in COUNTED:
        groups = [group for group in problems if group.kind == kind]
        rows = [row for group in groups for row in group.rows if row["outcome"] in outcomes or _is_proven(row)]
        if groups:
            causes = format_quantity(len(groups), "other cause" if parts else "cause")
            parts.append(f"{format_quantity(len(rows), noun, plural)} for {causes}")
    explained = [row for group in problems if group.kind == "failure" for row in group.rows if not _is_proven(row)]
    for outcome, noun, plural in EXPLAINED:
        if count := sum(row["outcome"] == outcome for row in explained):
            parts.append(f"{format_quantity(count, noun, plural)} explained by failures")
    listed = {row["id"] for group in problems for row in group.rows}
    if unobserved := sum(row["fails"] and row["id"] not in listed for row in judged["requirements"]):
        parts.append(f"{unobserved:,} not observed before the run ended")
    return ", ".join(parts)


def _is_proven(row: dict[str, Any]) -> bool:
    """Return whether a row fails because of what was seen, not of what could not be tested."""
    return bool(row["fails"]) and row["outcome"] != "UNTESTABLE"


def describe_requests(run: dict[str, Any]) -> str:
    """Return how many requests a run sent, and how long it took."""
    return f"{format_quantity(run['requests'], 'request')} in {run['duration_s']:.1f} s"


def describe_retries(run: dict[str, Any]) -> str:
    """Return how many requests a run sent again, and how long it waited for that."""
    sent = format_quantity(run["retries"], "request was sent again", "requests were sent again")
    return f"{sent}, after {run['waited_s']:.1f} s of waiting"


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
    named = {**STATES, "not_sent": _describe_unsent(judged["run"])}
    others = [f"{counts[state]} {words}" for state, words in named.items() if counts[state]]
    sentences = format_quantity(counts["sentences"], "sentence")
    total = f"{counts['judged']} of {sentences} of {judged['target']['document']['id']} judged"
    yield f"{total}; {', '.join(others)}" if others else total
    undeclared = counts["undeclared_capabilities"]
    if undeclared and counts["judged"]:
        names = sorted(undeclared, key=lambda name: (-undeclared[name], name))
        some = ", ".join(f"{name} ({undeclared[name]})" for name in names[:SHOWN_CAPABILITIES])
        more = f" and {len(names) - SHOWN_CAPABILITIES} more" if len(names) > SHOWN_CAPABILITIES else ""
        origins = judged["target"].get("capability_origins", {})
        unknown = [name for name in names if origins.get(name, {}).get("status") == "unknown"]
        hint = f"; judge them with {PLACES.get(unknown[0], f'--capability +{unknown[0]}')}" if unknown else ""
        yield f"sentences about undeclared capabilities: {some}{more}{hint}"


def _describe_unsent(run: dict[str, Any]) -> str:
    """Return what happened to sentences whose requests were left out, and by which depth if nothing else did."""
    depth, selected = run.get("depth"), run.get("only") or run.get("topics") or run.get("exhausted")
    return STATES["not_sent"] if depth in (None, "thorough") or selected else f"not sent at --depth {depth}"


def describe_caveats(results: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (name, text) for what a reader of the verdict must know besides."""
    if not results["target"]["tls_verified"]:
        yield "tls", "the server's certificate was not verified (--insecure)"
    if results["run"]["exhausted"]:
        yield "ended_early", results["run"]["exhausted"]
    if unjudged := describe_unjudged(results["run"]):
        yield "unjudged", unjudged


def describe_unjudged(run: dict[str, Any]) -> str:
    """Return why a run judged nothing that was selected, and what to do; empty if it judged something."""
    return f"no verdict: {run['unjudged']}" if run.get("unjudged") else ""
