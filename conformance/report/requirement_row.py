"""Combine the judgements of a requirement into a row with its outcome.

The outcome depends on what the exchanges showed and on the keyword of the requirement:

|        | no finding | finding                | not observed       | not exercised | not declared   |
|--------|------------|------------------------|--------------------|---------------|----------------|
| MUST   | PASS       | FAIL                   | UNTESTABLE (fails) | NOT_EXERCISED | NOT_APPLICABLE |
| SHOULD | PASS       | WARN (fails if strict) | UNTESTABLE (warns) | NOT_EXERCISED | NOT_APPLICABLE |
| MAY    | OBSERVED, with what was seen                             | NOT_EXERCISED | NOT_APPLICABLE |

NOT_EXERCISED means that the condition of the requirement did not occur (`NotExercised`), for example because usage
that may be absent is absent, or because every request that would show it may be refused and was. NOT_APPLICABLE means
that the server does not declare the capability. Neither fails the run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from conformance.check import Finding
from conformance.judge.rounds import ACCEPTED, DECIDED
from conformance.report.outcome import Outcome
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from conformance.judge.judgement import Judgement
    from conformance.report.waivers import Waiver
    from openapi.contract.contract import Capability

UNCOVERED = "no scenario exercises it"
"""Why a requirement was not exercised that the plan does not cover. What was not sent never fails a server."""


@dataclass(frozen=True, slots=True)
class LocatedFinding:
    """A finding, with the ids of its scenario and its exchange."""

    finding: Finding
    scenario: str
    exchange: str


@dataclass(frozen=True, slots=True)
class RequirementRow:
    """One requirement and its outcome. `exchanges` is the number of judgements that it rests on.

    seen: the ids of the exchanges of these judgements.
    compared: for each comparison of exchanges with a finding, their ids in the order of the steps.
    """

    id: str
    check: str
    keyword: Keyword
    source: str
    interpretation: str | None
    summary: str
    outcome: Outcome
    findings: tuple[LocatedFinding, ...]
    exchanges: int
    note: str  # why it was not judged, what was seen, or the internal error
    waiver: Waiver | None = None
    causes: tuple[str, ...] = ()  # the requirements whose failure explains this one, the main one first
    seen: tuple[str, ...] = ()
    compared: tuple[tuple[str, ...], ...] = ()


def unjudged_row(
    identity: str, keyword: Keyword, source: str, summary: str, outcome: Outcome, note: str
) -> RequirementRow:
    return RequirementRow(identity, identity, keyword, source, None, summary, outcome, (), 0, note)


def denied_row(capability: Capability, refusal: str) -> RequirementRow:
    """Return the row of a capability that the document has and the server refuses, so that it is not judged."""
    identity = f"capability.{capability.name}"
    finding = Finding("/status", "an answer, because the document has this capability", refusal)
    located = LocatedFinding(finding, "preflight", f"preflight/probe-{capability.name}")
    row = unjudged_row(identity, Keyword.SHOULD, capability.source, capability.summary, Outcome.WARN, "")
    return replace(row, findings=(located,))


def judged_row(group: list[Judgement]) -> RequirementRow:
    """Combine all judgements of one requirement."""
    first = group[0].assertion
    requirement = first.requirement
    findings = tuple(
        LocatedFinding(finding, judgement.assertion.scenario.id, judgement.exchanges[-1])
        for judgement in group
        for finding in judgement.findings
    )
    observed = [judgement for judgement in group if judgement.unobserved is None and judgement.error is None]
    errors = [judgement.error for judgement in group if judgement.error]
    outcome, note = _decide(requirement.keyword, bool(findings), group, len(observed), errors)
    summaries = dict.fromkeys(judgement.assertion.summary for judgement in group)
    failing = [judgement.assertion.summary for judgement in group if judgement.findings]
    summary = failing[0] if failing else next(iter(summaries))
    if first.check.by_subject and not failing and len(summaries) > 1:
        summary = f"{summary} (and {len(summaries) - 1} more)"
    return RequirementRow(
        id=requirement.id,
        check=first.check.id,
        keyword=requirement.keyword,
        source=requirement.source,
        interpretation=requirement.interpretation,
        summary=summary,
        outcome=outcome,
        findings=findings,
        exchanges=len(observed),
        note=note,
        seen=tuple(dict.fromkeys(name for judgement in group for name in judgement.exchanges)),
        compared=tuple(
            judgement.exchanges for judgement in group if judgement.findings and judgement.assertion.check.is_relation
        ),
    )


def _decide(
    keyword: Keyword, has_findings: bool, group: list[Judgement], observed: int, errors: list[str]
) -> tuple[Outcome, str]:
    """Return the outcome by the table above, and the note of the row."""
    if errors:
        return Outcome.ERROR, errors[0]
    if has_findings or observed:
        if keyword is Keyword.MAY:
            return Outcome.OBSERVED, "not as described" if has_findings else "as described"
        bad = Outcome.FAIL if keyword is Keyword.MUST else Outcome.WARN
        return (bad if has_findings else Outcome.PASS), ""
    not_exercised = [judgement for judgement in group if not judgement.applies]
    if all(judgement.optional for judgement in group):
        not_exercised = group
    reasons = _reasons(not_exercised or group)
    if not_exercised:
        return Outcome.NOT_EXERCISED, reasons
    return (Outcome.OBSERVED, f"not seen: {reasons}") if keyword is Keyword.MAY else (Outcome.UNTESTABLE, reasons)


def _reasons(group: list[Judgement]) -> str:
    """Return the first two reasons why nothing was judged.

    That a request was not needed explains nothing to the reader, so it is left out if there are other reasons.
    """
    reasons = dict.fromkeys(judgement.unobserved or "" for judgement in group)
    others = [reason for reason in reasons if reason not in (ACCEPTED, DECIDED)]
    return "; ".join((others or list(reasons))[:2])
