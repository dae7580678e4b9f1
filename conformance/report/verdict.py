"""Verdict: judgements + requirement rows -> one outcome per requirement, and one word for the whole run.

|        | no finding | finding                | not observed       | no occasion | not declared   |
|--------|------------|------------------------|--------------------|-------------|----------------|
| MUST   | PASS       | FAIL                   | UNTESTABLE (fails) | NO_OCCASION | NOT_APPLICABLE |
| SHOULD | PASS       | WARN (fails if strict) | UNTESTABLE (warns) | NO_OCCASION | NOT_APPLICABLE |
| MAY    | OBSERVED, with what was seen                             | NO_OCCASION | NOT_APPLICABLE |

NOT_APPLICABLE tells what the server lacks, NO_OCCASION that nothing came which the rule speaks of (`NoOccasion`: usage
that may be absent is absent): neither fails, and nobody is to blame.

A row that fails and is waived is WAIVED and fails nothing; an expired waiver, and one that nothing needs any more, are
rows that FAIL.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from conformance.judge.rounds import DECIDED
from conformance.report.waivers import owed
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.check import Finding
    from conformance.judge.judgement import Judgement
    from conformance.plan.plan import Plan
    from conformance.report.waivers import Waiver


class Outcome(StrEnum):
    """What became of one requirement."""

    PASS = "PASS"  # noqa: S105 - no password
    FAIL = "FAIL"
    WARN = "WARN"
    OBSERVED = "OBSERVED"
    UNTESTABLE = "UNTESTABLE"
    NO_OCCASION = "NO_OCCASION"  # nothing came that it speaks of
    NOT_APPLICABLE = "NOT_APPLICABLE"  # the capability is not declared
    WAIVED = "WAIVED"  # it fails, and somebody answers for it
    ERROR = "ERROR"  # a defect of ours


UNJUDGED = (Outcome.NO_OCCASION, Outcome.NOT_APPLICABLE)
"""The outcomes that say nothing of the server's conduct."""


class Verdict(StrEnum):
    """The word for the whole run."""

    CONFORMANT = "conformant"
    NONCONFORMANT = "nonconformant"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Found:
    """One finding and where it was made."""

    finding: Finding
    scenario: str
    exchange: str


@dataclass(frozen=True, slots=True)
class Row:
    """One requirement and what became of it. `exchanges` counts what it was judged on."""

    id: str
    check: str
    keyword: Keyword
    source: str
    reading: str | None
    summary: str
    outcome: Outcome
    findings: tuple[Found, ...]
    exchanges: int
    note: str  # why it was not judged, what was seen, or what broke
    waiver: Waiver | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """Every row and the verdict. `exhausted` names the budget that ended the run early."""

    rows: tuple[Row, ...]
    verdict: Verdict
    exhausted: str | None

    @property
    def counts(self) -> dict[str, int]:
        """How many rows came to each outcome; every outcome is there."""
        return {each.value: sum(row.outcome is each for row in self.rows) for each in Outcome}

    def fails(self, row: Row, *, strict: bool) -> bool:
        """Whether this row alone makes the run nonconformant."""
        return row_fails(row.outcome, row.keyword, strict=strict)


def row_fails(outcome: Outcome, keyword: Keyword, *, strict: bool) -> bool:
    """Whether an outcome fails a run."""
    if outcome is Outcome.FAIL:
        return True
    if outcome is Outcome.WARN:
        return strict
    return outcome is Outcome.UNTESTABLE and (keyword is Keyword.MUST or (strict and keyword is Keyword.SHOULD))


def report(
    plan: Plan,
    judgements: Iterable[Judgement],
    *,
    strict: bool,
    exhausted: str | None,
    waivers: tuple[Waiver, ...] = (),
    today: date | None = None,
) -> Report:
    """One row per requirement, in the plan's order, then those of waivers that fail; and the verdict.

    A budget that ran out leaves the run inconclusive unless something failed on an exchange that was made.
    """
    grouped: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        grouped.setdefault(judgement.assertion.requirement.id, []).append(judgement)
    rows = [_row(group) for group in grouped.values()]
    rows += [
        _plain_row(row.id, row.keyword, row.source, "", Outcome.UNTESTABLE, "no scenario reaches it")
        for row in plan.uncovered
    ]
    rows += [
        _plain_row(
            f"capability.{each.name}", Keyword.MAY, each.source, each.summary, Outcome.NOT_APPLICABLE, "not declared"
        )
        for each in plan.undeclared
    ]
    rows = _waived(rows, waivers, today or datetime.now(UTC).date(), strict=strict, whole=exhausted is None)
    failing = [row for row in rows if row_fails(row.outcome, row.keyword, strict=strict)]
    proven = [row for row in failing if row.outcome is not Outcome.UNTESTABLE]
    if any(row.outcome is Outcome.ERROR for row in rows) or (exhausted and not proven):
        verdict = Verdict.INCONCLUSIVE
    else:
        verdict = Verdict.NONCONFORMANT if failing else Verdict.CONFORMANT
    return Report(tuple(rows), verdict, exhausted)


def _waived(rows: list[Row], waivers: tuple[Waiver, ...], today: date, *, strict: bool, whole: bool) -> list[Row]:
    """The rows with what is waived marked, and a row for each waiver that fails.

    A waiver is stale when all that it covers was judged and nothing of it fails. One that covers nothing of this plan
    is left alone, for a run may be narrowed, and so is one over what was not judged this time.
    """
    failing = {row.id for row in rows if row_fails(row.outcome, row.keyword, strict=strict)}
    found = [
        replace(row, outcome=Outcome.WAIVED, note=f"{waiver.words}; else {row.outcome}", waiver=waiver)
        if row.id in failing and (waiver := owed(waivers, row.id, today))
        else row
        for row in rows
    ]
    for waiver in waivers:
        covered = [row for row in rows if waiver.covers(row.id)]
        if waiver.expired(today):
            reason = f"it expired on {waiver.expires.isoformat()}"
        elif whole and covered and not any(row.id in failing or row.outcome in UNJUDGED for row in covered):
            reason = "nothing that it covers fails any more: take it out"
        else:
            continue
        summary = "a waiver is in force and needed"
        note = f"{reason} ({waiver.owner}: {waiver.reason})"
        row = _plain_row(f"waivers.{waiver.id}", Keyword.MUST, waiver.source, summary, Outcome.FAIL, note)
        found.append(replace(row, check="waivers.needed"))
    return found


def _plain_row(identity: str, keyword: Keyword, source: str, summary: str, outcome: Outcome, note: str) -> Row:
    return Row(identity, identity, keyword, source, None, summary, outcome, (), 0, note)


def _row(group: list[Judgement]) -> Row:
    first = group[0].assertion
    requirement = first.requirement
    findings = tuple(
        Found(finding, judgement.assertion.scenario.id, judgement.exchanges[-1])
        for judgement in group
        for finding in judgement.findings
    )
    observed = [judgement for judgement in group if judgement.unobserved is None and judgement.error is None]
    errors = [judgement.error for judgement in group if judgement.error]
    outcome, note = _outcome(requirement.keyword, bool(findings), group, len(observed), errors)
    summaries = dict.fromkeys(judgement.assertion.summary for judgement in group)
    failing = [judgement.assertion.summary for judgement in group if judgement.findings]
    summary = failing[0] if failing else next(iter(summaries))
    if first.check.by_subject and not failing and len(summaries) > 1:
        summary = f"{summary} (and {len(summaries) - 1} more)"
    return Row(
        id=requirement.id,
        check=first.check.id,
        keyword=requirement.keyword,
        source=requirement.source,
        reading=requirement.reading,
        summary=summary,
        outcome=outcome,
        findings=findings,
        exchanges=len(observed),
        note=note,
    )


def _outcome(
    keyword: Keyword, found: bool, group: list[Judgement], observed: int, errors: list[str]
) -> tuple[Outcome, str]:
    if errors:
        return Outcome.ERROR, errors[0]
    if found or observed:
        if keyword is Keyword.MAY:
            return Outcome.OBSERVED, "otherwise" if found else "as described"
        bad = Outcome.FAIL if keyword is Keyword.MUST else Outcome.WARN
        return (bad if found else Outcome.PASS), ""
    idle = [judgement for judgement in group if not judgement.applies]
    why = _reasons(idle or group)
    if idle:
        return Outcome.NO_OCCASION, why
    return (Outcome.OBSERVED, f"not seen: {why}") if keyword is Keyword.MAY else (Outcome.UNTESTABLE, why)


def _reasons(group: list[Judgement]) -> str:
    """The first two reasons why nothing was judged. DECIDED explains nothing, so it is told only where all say it."""
    reasons = dict.fromkeys(judgement.unobserved or "" for judgement in group)
    others = [reason for reason in reasons if reason != DECIDED]
    return "; ".join((others or list(reasons))[:2])
