"""Judge a recorded run again after its exchanges were changed, and compare the judgements with those before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from conformance.tests.proof.spacing import space_evenly
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conformance.judge.judgement import Judgement
    from conformance.proof.recorded_run import Exchanges
    from conformance.report.outcome import Outcome
    from conformance.tests.conftest import Good

MOST: Final = 5
"""Assertions of a requirement that are compared, of each kind: affected or not, observed or not."""


@dataclass(frozen=True)
class Rejudged:
    """The same assertions of a run, judged before and after its exchanges were changed."""

    good: Good
    before: tuple[Judgement, ...]
    after: tuple[Judgement, ...]

    @property
    def new_findings(self) -> list[str]:
        """The binding findings and the errors that the change has caused."""
        known = set(findings(self.before))
        return [finding for finding in findings(self.after) if finding not in known]

    @cached_property
    def moved(self) -> dict[str, Outcome]:
        """The requirements whose outcome the change has moved, and their new outcome."""
        before = self.good.outcomes(self.before)
        return {key: outcome for key, outcome in self.good.outcomes(self.after).items() if outcome != before[key]}


def judge(good: Good, changed: Exchanges) -> Rejudged:
    """Judge assertions about changed exchanges again: a few of each requirement, evenly spaced.

    A requirement that these few do not show is judged in full, because why it is not shown depends on all of them.
    """
    edited = {exchange.id for key, exchange in changed.items() if exchange != good.exchanges[key]}
    affected: dict[str, list[Judgement]] = {}
    kept: dict[str, list[Judgement]] = {}
    for judgement in good.judgements:
        groups = kept if edited.isdisjoint(judgement.exchanges) else affected
        groups.setdefault(judgement.assertion.requirement.id, []).append(judgement)
    before = [judgement for group in affected.values() for judgement in _spread(group)]
    after = list(good.judge(changed, [judgement.assertion for judgement in before]))
    shown = {judgement.assertion.requirement.id for judgement in after if judgement.unobserved is None}
    rest = [judgement for identity, group in affected.items() if identity not in shown for judgement in group]
    before += rest
    after += good.judge(changed, [judgement.assertion for judgement in rest])
    same = [
        judgement
        for identity, group in kept.items()
        for judgement in (_spread(group) if identity in shown or identity not in affected else group)
    ]
    return Rejudged(good, (*same, *before), (*same, *after))


def _spread(group: Sequence[Judgement]) -> list[Judgement]:
    """Return evenly spaced judgements of those that were observed, and of those that were not."""
    observed = [judgement for judgement in group if judgement.unobserved is None]
    others = [judgement for judgement in group if judgement.unobserved is not None]
    return [*space_evenly(observed, MOST), *space_evenly(others, MOST)]


def findings(judgements: Iterable[Judgement]) -> list[str]:
    """Return the binding findings and the errors of judgements in words."""
    words = []
    for judgement in judgements:
        binding = judgement.assertion.requirement.keyword is not Keyword.MAY
        if judgement.error or (judgement.findings and binding):
            details = judgement.error or [(finding.where, finding.expected) for finding in judgement.findings]
            words.append(f"{judgement.assertion.id}: {details}")
    return words
