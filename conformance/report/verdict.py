"""Decide the verdict of the whole run from the outcome of each requirement.

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

from conformance.report.outcome import UNJUDGED, VIOLATED, Outcome, row_fails
from conformance.report.requirement_row import UNCOVERED, RequirementRow, denied_row, judged_row, unjudged_row
from conformance.report.waivers import find_waiver
from openapi.contract.contract import Keyword
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.judge.judgement import Judgement
    from conformance.plan.plan import Plan
    from conformance.report.waivers import Waiver


class Verdict(StrEnum):
    """The result of the whole run."""

    CONFORMANT = "conformant"
    NONCONFORMANT = "nonconformant"
    INCONCLUSIVE = "inconclusive"


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
    rows = [judged_row(group) for group in grouped.values()]
    rows = [replace(row, causes=(causes or {}).get(row.id, ())) if row.outcome in VIOLATED else row for row in rows]
    rows += [
        unjudged_row(
            requirement.id, requirement.keyword, requirement.source, "", Outcome.NOT_EXERCISED, reason or UNCOVERED
        )
        for requirement, reason in (*((row, "") for row in plan.uncovered), *plan.left_out)
    ]
    rows += [
        unjudged_row(f"capability.{capability.name}", Keyword.MAY, capability.source, capability.summary, outcome, note)
        for capabilities, outcome, note in (
            (plan.undeclared, Outcome.NOT_APPLICABLE, "not declared"),
            (plan.unjudged, Outcome.UNTESTABLE, "declared, but no requirement judges it"),
        )
        for capability in capabilities
        if capability.name not in plan.denials
    ]
    rows += [denied_row(item, plan.denials[item.name]) for item in plan.undeclared if item.name in plan.denials]
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
        row = unjudged_row(f"waivers.{waiver.id}", Keyword.MUST, waiver.source, summary, Outcome.FAIL, note)
        marked.append(replace(row, check="waivers.needed"))
    return marked
