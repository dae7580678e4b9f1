"""Failures: the requirements that a run violates, each with the evidence that its findings rest on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from conformance.judge.judgement import trace_reads
from conformance.judge.traced_exchange import VIEWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.check import Finding, View
    from conformance.exchange import Exchange
    from conformance.judge.judgement import Judgement
    from conformance.plan.assertion import Assertion
    from conformance.scenario import Step
    from openapi.contract.contract import Contract, Keyword
    from openapi.description.validation import Validator

WHOLE: Final = ("", "body", "bytes", "response", "rounds")
"""First parts of places that do not name a field."""
NOT_IN_BODY: Final = ("status", "headers")
VARIABLE: Final = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8}[0-9a-f-]{4,}|\d+", re.IGNORECASE)
"""Parts in which two errors with the same cause differ: numbers, addresses and ids."""
LONG_NUMBER: Final = re.compile(r"\d{6,}")
"""Parts in which two values with the same cause differ: times and ids."""
LONGEST_ERROR: Final = 600
USUAL_FIELDS: Final = frozenset(("model", "messages", "stream", "max_tokens", "max_completion_tokens"))
"""Fields of nearly every request."""
FEW_FIELDS: Final = 2
"""A parameter and one that it needs, such as top_logprobs and logprobs."""

ErrorKey = tuple[int | None, str]
ValueKey = tuple[tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class Place:
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

    def contains(self, other: Place) -> bool:
        """Return whether the other place is inside this field, and may be in the same event."""
        if self.field is None or other.field is None:
            return False
        if None not in (self.event, other.event) and self.event != other.event:
            return False
        return len(self.field) < len(other.field) and other.field[: len(self.field)] == self.field


@dataclass(frozen=True, slots=True)
class Evidence:
    """One finding, and what it rests on: the exchanges that its check compared, and the views of them that it read."""

    place: Place
    exchanges: tuple[str, ...]
    views: frozenset[tuple[str, View]]
    errors: frozenset[ErrorKey]
    value: ValueKey | None
    invalidates: frozenset[View]

    @property
    def keys(self) -> tuple[ErrorKey | ValueKey, ...]:
        """What is equal in findings on different exchanges that have the same cause."""
        return (*self.errors, *(() if self.value is None else (self.value,)))

    def explains(self, other: Evidence, exchange: str) -> bool:
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
class FailedRequirement:
    """A failing requirement and all evidence for it.

    parameter: the only parameter that it is about, if there is one.
    has_findings: False if it could not be tested.
    """

    requirement: str
    parameter: str | None
    keyword: Keyword
    has_findings: bool
    evidence: tuple[Evidence, ...]


def select_failing(group: Sequence[Judgement]) -> list[Judgement]:
    """Return the judgements with findings, or those that show nothing if the requirement could not be tested."""
    if any(judgement.findings for judgement in group):
        return [judgement for judgement in group if judgement.findings]
    if all(judgement.unobserved is not None and judgement.applies for judgement in group):
        silent = [judgement for judgement in group if judgement.exchanges or judgement.assertion.step.source]
        # A request that may be refused shows nothing if it is, which has no cause.
        return [judgement for judgement in silent if judgement.assertion.step.expect != "either"] or silent
    return []


def gather_failure(
    group: Sequence[Judgement],
    recorded: Mapping[tuple[str, str], Exchange],
    contract: Contract,
    validator: Validator,
    model: str,
) -> FailedRequirement:
    requirement, check = group[0].assertion.requirement, group[0].assertion.check
    evidence: list[Evidence] = []
    for judgement in group:
        scenario, exchanges = judgement.assertion.scenario, judgement.exchanges or _presupposed(judgement, recorded)
        steps = [
            (step, exchange)
            for step in scenario.steps
            if (exchange := recorded.get((scenario.id, step.name))) and exchange.id in exchanges
        ]
        reads = trace_reads(judgement, recorded, contract, validator, model) if judgement.exchanges else ()
        views = frozenset((exchange, view) for exchange, name in reads for view in VIEWS.get(name, ()))
        errors_of = {step.name: error for step, exchange in steps if (error := _error_key(exchange, step))}
        errors = frozenset(errors_of.values())
        names = [step.name for step, _ in steps]
        if not judgement.findings:
            evidence.append(Evidence(Place(None, None), exchanges, views, errors, None, frozenset()))
        for finding in judgement.findings:
            place = Place(("status",), None) if check.by_subject else _place_of(finding, names)
            value = _value_key(place, finding)
            named = finding.where.strip("/").partition("/")[0]
            if named not in names:
                evidence.append(Evidence(place, exchanges, views, errors, value, check.invalidates))
                continue
            # The finding was made although other requests were refused, so it does not follow from their errors.
            refused = {exchange.id for step, exchange in steps if step.name in errors_of and step.name != named}
            own_errors = frozenset(error for name, error in errors_of.items() if name == named)
            own_views = frozenset(item for item in views if item[0] not in refused)
            evidence.append(Evidence(place, exchanges, own_views, own_errors, value, check.invalidates))
    has_findings = bool(group[0].findings)
    parameters = {_parameter_of(judgement.assertion) for judgement in group}
    parameter = parameters.pop() if len(parameters) == 1 else None
    return FailedRequirement(
        requirement.id, parameter, requirement.keyword, has_findings, tuple(dict.fromkeys(evidence))
    )


def _presupposed(judgement: Judgement, recorded: Mapping[tuple[str, str], Exchange]) -> tuple[str, ...]:
    """Return the exchange from whose answer a request would have been made that was not sent."""
    scenario, source = judgement.assertion.scenario, judgement.assertion.step.source
    exchange = None if source is None else recorded.get((scenario.id, source))
    return () if exchange is None else (exchange.id,)


def _parameter_of(assertion: Assertion) -> str | None:
    """Return the parameter that an assertion tests, if its request has few others."""
    subject = assertion.scenario.subject_of(assertion.step) if assertion.check.by_subject else None
    if subject is None or len((assertion.step.body or {}).keys() - USUAL_FIELDS) > FEW_FIELDS:
        return None
    return subject.parameter


def _place_of(finding: Finding, steps: Sequence[str]) -> Place:
    """Return the place of a finding. In a relation it may begin with the name of a step."""
    parts = finding.where.strip("/").split("/")
    if len(parts) > 1 and parts[0] in steps:
        parts = parts[1:]
    event = None
    if parts[0] == "events":
        event = int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else None
        parts = parts[2:] or [""]
    if parts[0] in WHOLE:
        return Place(None, event)
    names = (("message" if part == "delta" else part) for part in parts if not part.isdigit() and part not in "*-")
    return Place(tuple(names) or None, event)


def _value_key(place: Place, finding: Finding) -> ValueKey | None:
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
