"""Find the requirements that fail only as a consequence of others that fail.

A requirement A explains a finding of a requirement B if A has a finding on one of the same exchanges, and one of these
holds:

- same field: both findings are about the same field, whatever the index of the choice or event.
- presupposition: A's check declares that its findings invalidate a view of the exchange (`Check.invalidates`), and B's
  check has read this view. What a check reads is recorded while it judges, not declared. A finding about a single field
  invalidates what that field contains, and what is assembled from all events.

On other exchanges, A explains a finding of B with the same evidence:

- same value: A has a finding about the same field, which contains the same value.
- same error: the exchange was answered with an error that the request does not explain, and A has a finding on an
  exchange with the same error.

B is a consequence only if every finding of B is explained, so that an independent failure is never shown as one. A
requirement that could not be tested is treated in the same way, with the exchanges that show nothing as its findings.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from conformance.judge.evidence.liveness import CANARY, JUDGED_BY, LOST, explain_unsent
from conformance.judge.judgement import trace_reads
from conformance.judge.traced_exchange import VIEWS
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.check import Finding, View
    from conformance.exchange import Exchange
    from conformance.judge.judgement import Judgement
    from conformance.scenario import Step
    from openapi.contract.contract import Contract
    from openapi.description.validation import Validator

RANKS: Final = {Keyword.MUST: 0, Keyword.SHOULD: 1, Keyword.MAY: 2}
WHOLE: Final = ("", "body", "bytes", "response", "rounds")
"""First parts of places that do not name a field."""
NOT_IN_BODY: Final = ("status", "headers")
VARIABLE: Final = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8}[0-9a-f-]{4,}|\d+", re.IGNORECASE)
"""Parts in which two errors with the same cause differ: numbers, addresses and ids."""
LONG_NUMBER: Final = re.compile(r"\d{6,}")
"""Parts in which two values with the same cause differ: times and ids."""
LONGEST_ERROR: Final = 600

ErrorKey = tuple[int | None, str]
ValueKey = tuple[tuple[str, ...], str]
Causes = dict[str, tuple[str, ...]]
"""The causes of each requirement that fails as a consequence, as ids of requirements. The first explains the most."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in an answer a finding is. `field` has no indices, so it is the same plain and streamed, in every choice.

    field: None if the finding is not about a single field.
    event: the event of a stream that contains it, if there is one.
    """

    field: tuple[str, ...] | None
    event: int | None

    @property
    def in_body(self) -> bool:
        """Whether this is a field of the body."""
        return self.field is not None and self.field[0] not in NOT_IN_BODY

    def contains(self, other: _Place) -> bool:
        """Return whether the other place is inside this field, and may be in the same event."""
        if self.field is None or other.field is None:
            return False
        if None not in (self.event, other.event) and self.event != other.event:
            return False
        return len(self.field) < len(other.field) and other.field[: len(self.field)] == self.field


@dataclass(frozen=True, slots=True)
class _Evidence:
    """One finding, and what it rests on: the exchanges that its check compared, and the views of them that it read."""

    place: _Place
    exchanges: tuple[str, ...]
    views: frozenset[tuple[str, View]]
    errors: frozenset[ErrorKey]
    value: ValueKey | None
    invalidates: frozenset[View]

    @property
    def keys(self) -> tuple[ErrorKey | ValueKey, ...]:
        """What is equal in findings on different exchanges that have the same cause."""
        return (*self.errors, *(() if self.value is None else (self.value,)))

    def explains(self, other: _Evidence, exchange: str) -> bool:
        """Return whether this finding explains another one on the same exchange."""
        mine, place = self.place, other.place
        if mine.field is not None and mine.field == place.field:
            return True
        if "field" in self.invalidates and mine.contains(place):
            return True
        if mine.event is not None and place.event is not None and place.event < mine.event:
            return False  # events that precede the wrong one are not affected by it
        invalid = self.invalidates & {"assembled"} if mine.in_body else self.invalidates
        return any((exchange, view) in other.views for view in invalid)


@dataclass(frozen=True, slots=True)
class _Failure:
    """A failing requirement and all evidence for it. `has_findings`: False if it could not be tested."""

    requirement: str
    keyword: Keyword
    has_findings: bool
    evidence: tuple[_Evidence, ...]


def find_causes(
    judgements: Iterable[Judgement],
    recorded: Mapping[tuple[str, str], Exchange],
    contract: Contract,
    validator: Validator,
    model: str,
) -> Causes:
    """Return the causes of every requirement that fails as a consequence. A cause is never itself a consequence."""
    grouped: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        if judgement.assertion.requirement.keyword is not Keyword.MAY:
            grouped.setdefault(judgement.assertion.requirement.id, []).append(judgement)
    failures = [
        _failure(failing, recorded, contract, validator, model)
        for group in grouped.values()
        if (failing := _failing(group))
    ]
    explained_by = _explain(failures)
    explains = {
        failure.requirement: sum(
            all(failure.requirement in names for names in explained_by[other.requirement]) for other in failures
        )
        for failure in failures
    }
    ranked = sorted(
        failures,
        key=lambda failure: (-explains[failure.requirement], not failure.has_findings, RANKS[failure.keyword]),
    )
    roots: list[str] = []
    for failure in ranked:
        if failure.requirement not in _attribute(roots, explained_by):
            roots.append(failure.requirement)
    for root in reversed(roots):  # a consequence that explains more than its cause comes before it
        others = [other for other in roots if other != root]
        if len(_attribute(others, explained_by)) == len(failures):
            roots = others
    attributed = _attribute(roots, explained_by)
    return {name: causes for name, causes in attributed.items() if name not in roots}


def attribute_lost(judgements: Iterable[Judgement], exhausted: str | None) -> Causes:
    """Return the death of the server as the cause of the requirements that only lost or unsent requests exercise."""
    shown: dict[str, bool] = {}
    died = False
    for judgement in judgements:
        requirement = judgement.assertion.requirement.id
        died = died or (judgement.assertion.scenario.id == CANARY and bool(judgement.findings))
        unseen = judgement.unobserved in (LOST, explain_unsent(exhausted)) and not judgement.exchanges
        shown[requirement] = shown.get(requirement, False) or not unseen
    return {name: (JUDGED_BY,) for name, is_shown in shown.items() if died and not is_shown}


def _attribute(roots: Sequence[str], explained_by: Mapping[str, list[set[str]]]) -> Causes:
    """Return the roots that explain each requirement, also by way of other consequences; a root explains itself."""
    causes: Causes = {root: (root,) for root in roots}
    progress = bool(roots)
    while progress:
        progress = False
        for name, explanations in explained_by.items():
            if name not in causes and all(not names.isdisjoint(causes) for names in explanations):
                used = Counter(
                    root
                    for names in explanations
                    for root in {cause for name in names for cause in causes.get(name, ())}
                )
                causes[name] = tuple(sorted(used, key=lambda root: (-used[root], roots.index(root))))
                progress = True
    return causes


def _explain(failures: Sequence[_Failure]) -> dict[str, list[set[str]]]:
    """Return for every failure, and each of its findings, which other failures explain it."""
    by_exchange: dict[str, list[tuple[str, _Evidence]]] = {}
    by_key: dict[ErrorKey | ValueKey, set[str]] = {}
    for failure in failures:
        for evidence in failure.evidence if failure.has_findings else ():
            for exchange in evidence.exchanges:
                by_exchange.setdefault(exchange, []).append((failure.requirement, evidence))
            for key in evidence.keys:
                by_key.setdefault(key, set()).add(failure.requirement)
    explained: dict[str, list[set[str]]] = {}
    for failure in failures:
        explained[failure.requirement] = explanations = []
        for evidence in failure.evidence:
            names = {name for key in evidence.keys for name in by_key.get(key, ())}
            for exchange in evidence.exchanges:
                candidates = by_exchange.get(exchange, [])
                names |= {name for name, own in candidates if name not in names and own.explains(evidence, exchange)}
            explanations.append(names - {failure.requirement})
    return explained


def _failing(group: Sequence[Judgement]) -> list[Judgement]:
    """Return the judgements with findings, or those that show nothing if the requirement could not be tested."""
    if any(judgement.findings for judgement in group):
        return [judgement for judgement in group if judgement.findings]
    if all(judgement.unobserved is not None and judgement.applies for judgement in group):
        return [judgement for judgement in group if judgement.exchanges]
    return []


def _failure(
    group: Sequence[Judgement],
    recorded: Mapping[tuple[str, str], Exchange],
    contract: Contract,
    validator: Validator,
    model: str,
) -> _Failure:
    requirement, check = group[0].assertion.requirement, group[0].assertion.check
    evidence: list[_Evidence] = []
    for judgement in group:
        scenario = judgement.assertion.scenario
        steps = [
            (step, exchange)
            for step in scenario.steps
            if (exchange := recorded.get((scenario.id, step.name))) and exchange.id in judgement.exchanges
        ]
        reads = trace_reads(judgement, recorded, contract, validator, model)
        views = frozenset((exchange, view) for exchange, name in reads for view in VIEWS.get(name, ()))
        errors = frozenset(error for step, exchange in steps if (error := _error_key(exchange, step)))
        names = [step.name for step, _ in steps]
        if not judgement.findings:
            evidence.append(_Evidence(_Place(None, None), judgement.exchanges, views, errors, None, frozenset()))
        for finding in judgement.findings:
            place = _Place(("status",), None) if check.by_subject else _place_of(finding, names)
            value = _value_key(place, finding)
            evidence.append(_Evidence(place, judgement.exchanges, views, errors, value, check.invalidates))
    has_findings = bool(group[0].findings)
    return _Failure(requirement.id, requirement.keyword, has_findings, tuple(dict.fromkeys(evidence)))


def _place_of(finding: Finding, steps: Sequence[str]) -> _Place:
    """Return the place of a finding. In a relation it may begin with the name of a step."""
    parts = finding.where.strip("/").split("/")
    if len(parts) > 1 and parts[0] in steps:
        parts = parts[1:]
    event = None
    if parts[0] == "events":
        event = int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else None
        parts = parts[2:] or [""]
    if parts[0] in WHOLE:
        return _Place(None, event)
    names = (("message" if part == "delta" else part) for part in parts if not part.isdigit() and part not in "*-")
    return _Place(tuple(names) or None, event)


def _value_key(place: _Place, finding: Finding) -> ValueKey | None:
    """Return what identifies the wrong value of a field; None for other findings."""
    if place.field is None or place.field[0] == "status":
        return None
    value = finding.got.rpartition("got ")[2].replace("'", '"')
    return place.field, LONG_NUMBER.sub("#", value)


def _error_key(exchange: Exchange, step: Step) -> ErrorKey | None:
    """Return what identifies an error that the request does not explain; None for any other answer."""
    failure = exchange.failure
    if step.stop_after_events is not None or (failure is not None and failure.kind == "disconnected-by-us"):
        return None
    fails_itself = exchange.status is None or exchange.status >= 500 or failure is not None
    if not fails_itself and (step.expect == "refusal" or not step.targets_chat or exchange.succeeded):
        return None
    if failure is not None:
        return exchange.status, VARIABLE.sub("#", f"{failure.kind} {failure.detail}")
    if exchange.is_stream and exchange.walk.errors:
        return exchange.status, VARIABLE.sub("#", repr(exchange.walk.errors[0][1])[:LONGEST_ERROR])
    return exchange.status, VARIABLE.sub("#", exchange.text[:LONGEST_ERROR])
