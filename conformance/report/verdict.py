"""Decide the outcome of each requirement and the verdict of the whole run.

The outcome depends on what the exchanges showed and on the keyword of the requirement:

|        | no finding | finding                | not observed       | not exercised | not declared   |
|--------|------------|------------------------|--------------------|---------------|----------------|
| MUST   | PASS       | FAIL                   | UNTESTABLE (fails) | NOT_EXERCISED | NOT_APPLICABLE |
| SHOULD | PASS       | WARN (fails if strict) | UNTESTABLE (warns) | NOT_EXERCISED | NOT_APPLICABLE |
| MAY    | OBSERVED, with what was seen                             | NOT_EXERCISED | NOT_APPLICABLE |

NOT_EXERCISED means that the condition of the requirement did not occur (`NotExercised`), for example because usage
that may be absent is absent, or because every request that would show it may be refused and was. NOT_APPLICABLE means
that the server does not declare the capability. Neither fails the run.

A failing requirement that a waiver covers is WAIVED and does not fail the run. An expired waiver, and one that no
failure needs any more, add a row that FAILs.

A run without a failure is conformant if it judged at least one of the requirements that the user selected. Otherwise it
shows nothing about them, and is inconclusive.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from conformance.check import Finding
from conformance.judge.rounds import DECIDED
from conformance.report.waivers import find_waiver
from openapi.contract.contract import Keyword
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.judge.judgement import Judgement
    from conformance.plan.plan import Plan
    from conformance.report.waivers import Waiver
    from openapi.contract.contract import Capability


class Outcome(StrEnum):
    """The outcome of one requirement."""

    PASS = "PASS"  # noqa: S105 - no password
    FAIL = "FAIL"
    WARN = "WARN"
    OBSERVED = "OBSERVED"
    UNTESTABLE = "UNTESTABLE"
    NOT_EXERCISED = "NOT_EXERCISED"  # the condition of the requirement did not occur
    NOT_APPLICABLE = "NOT_APPLICABLE"  # the capability is not declared
    WAIVED = "WAIVED"  # it fails, and a waiver accepts that
    ERROR = "ERROR"  # an internal error of the suite


UNCOVERED = "no scenario exercises it"
"""Why a requirement was not exercised that the plan does not cover. What was not sent never fails a server."""
UNJUDGED = (Outcome.NOT_EXERCISED, Outcome.NOT_APPLICABLE)
"""The outcomes of requirements that were not judged at all."""


VIOLATED = (Outcome.FAIL, Outcome.WARN, Outcome.UNTESTABLE)
"""The outcomes that can be a consequence of another failure."""


class Verdict(StrEnum):
    """The result of the whole run."""

    CONFORMANT = "conformant"
    NONCONFORMANT = "nonconformant"
    INCONCLUSIVE = "inconclusive"


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


@dataclass(frozen=True, slots=True)
class Report:
    """All rows and the verdict.

    exhausted: the limit that ended the run early, if any.
    unjudged: why a run that did not end early judged nothing that was selected, and what to do; None if it did.
    """

    rows: tuple[RequirementRow, ...]
    verdict: Verdict
    exhausted: str | None
    unjudged: str | None = None

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows with each outcome, including outcomes that no row has."""
        return {outcome.value: sum(row.outcome is outcome for row in self.rows) for outcome in Outcome}

    def fails(self, row: RequirementRow, *, strict: bool) -> bool:
        """Return whether this row alone makes the run nonconformant."""
        return row_fails(row.outcome, row.keyword, strict=strict)


def row_fails(outcome: Outcome, keyword: Keyword, *, strict: bool) -> bool:
    """Return whether a row with this outcome and keyword fails the run."""
    if outcome is Outcome.FAIL:
        return True
    if outcome is Outcome.WARN:
        return strict
    return outcome is Outcome.UNTESTABLE and (keyword is Keyword.MUST or (strict and keyword is Keyword.SHOULD))


def build_report(
    plan: Plan,
    judgements: Iterable[Judgement],
    *,
    strict: bool,
    exhausted: str | None,
    waivers: tuple[Waiver, ...] = (),
    today: date | None = None,
    causes: Mapping[str, tuple[str, ...]] | None = None,
) -> Report:
    """Make one row per requirement in the order of the plan, add the rows of waivers that fail, and decide the verdict.

    causes: the causes of the requirements that fail as a consequence. They change no outcome.

    A run that ended early is inconclusive unless a finding or a waiver fails it, and so is one that judged nothing.
    """
    grouped: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        grouped.setdefault(judgement.assertion.requirement.id, []).append(judgement)
    rows = [_judged_row(group) for group in grouped.values()]
    rows = [replace(row, causes=(causes or {}).get(row.id, ())) if row.outcome in VIOLATED else row for row in rows]
    rows += [
        _unjudged_row(
            requirement.id, requirement.keyword, requirement.source, "", Outcome.NOT_EXERCISED, reason or UNCOVERED
        )
        for requirement, reason in (*((row, "") for row in plan.uncovered), *plan.left_out)
    ]
    rows += [
        _unjudged_row(
            f"capability.{capability.name}", Keyword.MAY, capability.source, capability.summary, outcome, note
        )
        for capabilities, outcome, note in (
            (plan.undeclared, Outcome.NOT_APPLICABLE, "not declared"),
            (plan.unjudged, Outcome.UNTESTABLE, "declared, but no requirement judges it"),
        )
        for capability in capabilities
        if capability.name not in plan.denials
    ]
    rows += [_denied_row(item, plan.denials[item.name]) for item in plan.undeclared if item.name in plan.denials]
    rows = _apply_waivers(rows, waivers, today or datetime.now(UTC).date(), strict=strict, complete=exhausted is None)
    failing = [row for row in rows if row_fails(row.outcome, row.keyword, strict=strict)]
    proven = [row for row in failing if row.outcome is not Outcome.UNTESTABLE]
    if any(row.outcome is Outcome.ERROR for row in rows) or (exhausted and not proven):
        verdict = Verdict.INCONCLUSIVE
    elif failing:
        verdict = Verdict.NONCONFORMANT
    else:
        selected = [row for row in rows if plan.selected is None or row.id in plan.selected]
        if not any(map(_is_judged, selected)):
            return Report(tuple(rows), Verdict.INCONCLUSIVE, None, _explain_unjudged(plan, selected))
        verdict = Verdict.CONFORMANT
    return Report(tuple(rows), verdict, exhausted)


def _is_judged(row: RequirementRow) -> bool:
    return bool(row.exchanges or row.findings or row.outcome is Outcome.WAIVED)


def _explain_unjudged(plan: Plan, selected: list[RequirementRow]) -> str:
    """Return why none of the selected requirements was judged, and what to do, on one line."""
    if selected:
        reasons = "; ".join([*dict.fromkeys(row.note for row in selected if row.note)][:2])
        number = format_quantity(len(selected), "selected requirement was", "selected requirements were")
        why = f"{number} not exercised ({reasons})" if reasons else f"{number} not exercised"
    elif plan.selected == frozenset():
        why = "none of the selected requirements applies to a server with these capabilities"
    else:
        return "the run has no request that shows a selected requirement; select others, or run a check that sends more"
    return f"{why}; select more, or run a check with --capability +NAME for what else the server supports"


def _apply_waivers(
    rows: list[RequirementRow], waivers: tuple[Waiver, ...], today: date, *, strict: bool, complete: bool
) -> list[RequirementRow]:
    """Mark the waived rows, and add a row for each waiver that fails.

    A waiver is stale if everything that it covers was judged and none of it fails. A waiver that covers nothing in this
    plan is ignored, because a run may be narrowed, and so is one for requirements that were not judged this time.
    """
    failing = {row.id for row in rows if row_fails(row.outcome, row.keyword, strict=strict)}
    marked = [
        replace(row, outcome=Outcome.WAIVED, note=f"{waiver.description}; otherwise {row.outcome}", waiver=waiver)
        if row.id in failing and (waiver := find_waiver(waivers, row.id, today))
        else row
        for row in rows
    ]
    for waiver in waivers:
        covered = [row for row in rows if waiver.covers(row.id)]
        if waiver.has_expired(today):
            reason = f"it expired on {waiver.expires.isoformat()}"
        elif complete and covered and not any(row.id in failing or row.outcome in UNJUDGED for row in covered):
            reason = "none of the requirements that it covers fails any more: remove it"
        else:
            continue
        summary = "Every waiver is in force and needed."
        note = f"{reason} ({waiver.owner}: {waiver.reason})"
        row = _unjudged_row(f"waivers.{waiver.id}", Keyword.MUST, waiver.source, summary, Outcome.FAIL, note)
        marked.append(replace(row, check="waivers.needed"))
    return marked


def _unjudged_row(
    identity: str, keyword: Keyword, source: str, summary: str, outcome: Outcome, note: str
) -> RequirementRow:
    return RequirementRow(identity, identity, keyword, source, None, summary, outcome, (), 0, note)


def _denied_row(capability: Capability, refusal: str) -> RequirementRow:
    """Return the row of a capability that the document has and the server refuses, so that it is not judged."""
    identity = f"capability.{capability.name}"
    finding = Finding("/status", "an answer, because the document has this capability", refusal)
    located = LocatedFinding(finding, "preflight", f"preflight/probe-{capability.name}")
    row = _unjudged_row(identity, Keyword.SHOULD, capability.source, capability.summary, Outcome.WARN, "")
    return replace(row, findings=(located,))


def _judged_row(group: list[Judgement]) -> RequirementRow:
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

    DECIDED explains nothing to the reader, so it is left out if there are other reasons.
    """
    reasons = dict.fromkeys(judgement.unobserved or "" for judgement in group)
    others = [reason for reason in reasons if reason != DECIDED]
    return "; ".join((others or list(reasons))[:2])
