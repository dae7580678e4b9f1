"""Test how checks are run: their findings, what they could not observe, and their own defects."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.check import Applicability, Check, Finding, NotExercised, NotObserved
from conformance.judge.judgement import MOST_FINDINGS
from conformance.proof.editing.responses import with_status
from conformance.report.outcome import Outcome
from conformance.report.verdict import Verdict, build_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.judge.judgement import Judgement
    from conformance.tests.conftest import Good

BAD = Finding("/status", "200", "500")


@pytest.fixture
def one(read_good: Callable[[str], Good]) -> Callable[..., Judgement]:
    """Return a function that judges one recorded exchange with a function in place of a check."""
    good = read_good("mindie-2.3")
    (first,) = [assertion for assertion in good.plan.assertions if assertion.id == "conversation::answer.accepted"]

    def run(function: Callable[[Any, Any], Iterator[Finding]], **others: Any) -> Judgement:
        check = Check("topic.claim", "it holds", "", Applicability(lambda *_: True), function)
        (found,) = good.judge({}, [replace(first, check=replace(check, **others))])
        return found

    return run


def test_findings_are_kept_in_order(one: Callable[..., Judgement]) -> None:
    second = Finding("/body", "JSON", "text")
    found = one(lambda *_: iter((BAD, second)))
    assert ((BAD, second), None, None, ("conversation/main",)) == (
        found.findings,
        found.unobserved,
        found.error,
        found.exchanges,
    )


def test_a_check_with_endless_findings_is_stopped(one: Callable[..., Judgement]) -> None:
    def endless(*_: Any) -> Iterator[Finding]:
        while True:
            yield BAD

    assert one(endless).findings == (BAD,) * MOST_FINDINGS


@pytest.mark.parametrize(("reason", "applies"), [(NotObserved("too fast"), True), (NotExercised("too fast"), False)])
def test_findings_before_not_observed_are_dropped(
    one: Callable[..., Judgement], reason: Exception, applies: bool
) -> None:
    def judgement(*_: Any) -> Iterator[Finding]:
        yield BAD
        raise reason

    found = one(judgement)
    assert ((), "too fast", None, applies) == (found.findings, found.unobserved, found.error, found.applies)


@pytest.mark.parametrize("defect", [ValueError("x"), KeyError("usage"), RecursionError(), AssertionError()])
def test_a_defect_of_a_check_is_an_error_and_not_a_finding(one: Callable[..., Judgement], defect: Exception) -> None:
    def judgement(*_: Any) -> Iterator[Finding]:
        yield BAD
        raise defect

    found = one(judgement)
    assert (found.findings, found.unobserved) == ((), None)
    assert found.error == f"topic.claim: {type(defect).__name__}: {defect}"


def test_a_run_with_a_defect_of_a_check_is_inconclusive(one: Callable[..., Judgement], read_good: Any) -> None:
    def judgement(*_: Any) -> Iterator[Finding]:
        raise ValueError("x")

    found = build_report(read_good("mindie-2.3").plan, [one(judgement)], strict=True, exhausted=None)
    assert (found.rows[0].outcome, found.verdict) == (Outcome.ERROR, Verdict.INCONCLUSIVE)


def test_an_unmet_precondition_is_reported_without_running_the_check(one: Callable[..., Judgement]) -> None:
    def judgement(*_: Any) -> Iterator[Finding]:
        raise ValueError("x")

    found = one(judgement, on=Applicability(lambda *_: True, lambda exchange: f"{exchange.id} was not answered"))
    assert (found.unobserved, found.error) == ("conversation/main was not answered", None)


def test_a_relation_receives_its_steps_by_name(read_good: Callable[[str], Good]) -> None:
    good = read_good("mindie-2.3")
    seen: list[list[str]] = []

    def judgement(exchanges: dict[str, Any], _: Any) -> Iterator[Finding]:
        seen.append([f"{name}={exchange.step}" for name, exchange in exchanges.items()])
        return iter(())

    first = good.of("sampling.greedy-repeats", "greedy")[0]
    (found,) = good.judge({}, [replace(first, check=replace(first.check, judge=judgement))])
    assert seen == [["plain=plain", "plain-again=plain-again"]]
    assert found.exchanges == ("greedy/plain", "greedy/plain-again")


def test_an_exchange_that_was_not_sent_is_not_judged(read_good: Callable[[str], Good]) -> None:
    good = read_good("mindie-2.3")
    bare = replace(good, exchanges={})
    assert {None} != {judgement.unobserved for judgement in bare.judge({})}
    assert not [
        judgement
        for judgement in bare.judge({})
        if judgement.findings or judgement.error or judgement.unobserved is None
    ]


@pytest.mark.parametrize(
    ("expect", "status", "optional"), [("either", 400, True), ("either", 503, False), ("answer", 400, False)]
)
def test_a_refusal_of_a_request_that_may_be_refused_is_told_from_a_missing_answer(
    read_good: Callable[[str], Good], expect: Any, status: int, optional: bool
) -> None:
    good = read_good("mindie-2.3")
    name = "conversation::answer.object-named"
    (first,) = [assertion for assertion in good.plan.assertions if assertion.id == name]
    step = replace(first.step, expect=expect)
    assertion = replace(first, step=step, scenario=replace(first.scenario, steps=(step,)))
    changed = with_status(good.exchanges[first.scenario.id, step.name], status)
    (found,) = good.judge({(first.scenario.id, step.name): changed}, [assertion])
    assert (True, optional) == (found.unobserved is not None, found.optional)
