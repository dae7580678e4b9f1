"""Checks of parameters: documented values are accepted, and values out of bounds are refused.

These checks judge generated scenarios. Each scenario is about one value of one parameter, which has its own
requirement.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, NotObserved, check
from conformance.judge.acceptance import REFUSED, is_accepted, is_refused
from conformance.judge.answer_fields import shape_of
from conformance.judge.applicability import SUBJECT, summarize
from conformance.judge.rounds import trial
from conformance.scenario import OMITTED
from conformance.statistics import SAME_ANSWER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.check import Round
    from conformance.exchange import Exchange
    from conformance.scenario import Subject


def _subject(context: Context) -> Subject:
    if context.scenario.subject is None:
        raise NotObserved("the scenario is not about a parameter")
    return context.scenario.subject


def _sent(subject: Subject) -> str:
    if subject.value is OMITTED:
        return f"a request without {subject.parameter}"
    text = json.dumps(subject.value, ensure_ascii=False)
    return f"{subject.parameter} {text if len(text) <= 60 else text[:40] + '...'}"


def _must_accept(exchange: Exchange, context: Context) -> Iterator[Finding]:
    subject = _subject(context)
    if not is_accepted(exchange):
        if context.scenario.shared:
            raise NotExercised("values that were sent together are not accepted, so each of them was sent alone")
        yield Finding(f"/{subject.parameter}", f"{_sent(subject)} is accepted", summarize(exchange))


def _must_refuse(exchange: Exchange, context: Context) -> Iterator[Finding]:
    subject = _subject(context)
    if not is_refused(exchange, context.contract):
        yield Finding(f"/{subject.parameter}", f"{_sent(subject)} is refused: {REFUSED}", summarize(exchange))


@check("parameters.valid-accepted", on=SUBJECT, by_subject=True)
def valid_value_is_accepted(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A value inside the documented bounds is accepted."""
    yield from _must_accept(exchange, context)


@check("parameters.invalid-refused", on=SUBJECT, by_subject=True)
def invalid_value_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A value outside the documented bounds, or of another type, is refused as a client error."""
    yield from _must_refuse(exchange, context)


@check("parameters.required-demanded", on=SUBJECT, by_subject=True)
def missing_parameter_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A request without a required parameter is refused as a client error."""
    subject = _subject(context)
    if not is_refused(exchange, context.contract):
        yield Finding(f"/{subject.parameter}", f"a request without {subject.parameter} is refused", summarize(exchange))


@check("parameters.null-as-documented", on=SUBJECT, by_subject=True)
def null_is_taken_as_documented(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """null is accepted or refused as the dialect documents for the parameter."""
    accepted = _subject(context).expect == "accept"
    yield from _must_accept(exchange, context) if accepted else _must_refuse(exchange, context)


@check("parameters.rule-kept-accepted", on=SUBJECT, by_subject=True)
def combination_that_keeps_the_rule_is_accepted(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A combination of parameters that follows a documented rule is accepted."""
    yield from _must_accept(exchange, context)


@check("parameters.rule-broken-refused", on=SUBJECT, by_subject=True)
def combination_that_breaks_the_rule_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A combination of parameters that breaks a documented rule is refused as a client error."""
    yield from _must_refuse(exchange, context)


@check("parameters.unknown-tolerated", on=SUBJECT, by_subject=True)
def unknown_member_is_tolerated(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A field that no document defines is ignored."""
    yield from _must_accept(exchange, context)


@check("parameters.lacking-refused", on=SUBJECT, by_subject=True)
def lacking_capability_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A request for a capability that the server does not declare is refused, not silently ignored."""
    yield from _must_refuse(exchange, context)


@trial(
    "parameters.default-held",
    scenario=None,
    parts=("left-out", "sent", "other"),
    test=SAME_ANSWER,
    expected="the answer to the request that sends the default",
)
def default_is_the_documented_one(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """A request without the parameter is answered like a request with its documented default.

    The requests are greedy or seeded, and a third one has another value. If that one is answered alike, the parameter
    shows nothing here; if the request with the default is not answered alike each time, answers do not repeat.
    """
    left_out, sent, other = (shape_of(round_[part]) for part in ("left-out", "sent", "other"))
    if any(shape_of(before["sent"]) != sent for before in earlier):
        raise NotExercised("the answers of this server do not repeat")
    if left_out != sent:
        if sent.is_cut_before(left_out):
            raise NotExercised("the answer to the request with the default was cut off")
        return False
    if other == sent:
        raise NotExercised("another value of the parameter is answered alike")
    return True
