"""The verdict follows from what was observed and from the keyword of the requirement."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conformance.judge.rounds import ACCEPTED, DECIDED
from conformance.plan.plan import Plan
from conformance.report.outcome import Outcome, row_fails
from conformance.report.verdict import Verdict, build_report
from conformance.scenario import Subject
from conformance.tests.report.judgements import FINDING, make_judgement
from openapi.contract.contract import Capability, Keyword, Requirement, load

if TYPE_CHECKING:
    from conformance.check import Finding
    from conformance.judge.judgement import Judgement
    from conformance.report.verdict import Report

MUST, SHOULD, MAY = Keyword.MUST, Keyword.SHOULD, Keyword.MAY


def judgement_of(kind: str, keyword: Keyword) -> Judgement:
    """A judgement of one kind."""
    good = make_judgement(keyword)
    return {
        "no finding": good,
        "finding": replace(good, findings=(FINDING,)),
        "not observed": replace(good, unobserved="no answer"),
        "not exercised": replace(good, unobserved="no usage", applies=False),
        "error": replace(good, error="topic.claim: ValueError: x"),
    }[kind]


def make_report(*judgements: Judgement, strict: bool = False, exhausted: str | None = None) -> Report:
    """The report on some judgements."""
    return build_report(Plan(load("openai"), (), (), ()), judgements, strict=strict, exhausted=exhausted)


TABLE = {
    ("no finding", MUST): (Outcome.PASS, False, False),
    ("no finding", SHOULD): (Outcome.PASS, False, False),
    ("no finding", MAY): (Outcome.OBSERVED, False, False),
    ("finding", MUST): (Outcome.FAIL, True, True),
    ("finding", SHOULD): (Outcome.WARN, False, True),
    ("finding", MAY): (Outcome.OBSERVED, False, False),
    ("not observed", MUST): (Outcome.UNTESTABLE, True, True),
    ("not observed", SHOULD): (Outcome.UNTESTABLE, False, True),
    ("not observed", MAY): (Outcome.OBSERVED, False, False),
    ("not exercised", MUST): (Outcome.NOT_EXERCISED, False, False),
    ("not exercised", SHOULD): (Outcome.NOT_EXERCISED, False, False),
    ("not exercised", MAY): (Outcome.NOT_EXERCISED, False, False),
    ("error", MUST): (Outcome.ERROR, False, False),
    ("error", SHOULD): (Outcome.ERROR, False, False),
    ("error", MAY): (Outcome.ERROR, False, False),
}


@pytest.mark.parametrize(("kind", "keyword"), TABLE)
def test_the_outcome_follows_from_the_judgement_and_the_keyword(kind: str, keyword: Keyword) -> None:
    (row,) = make_report(judgement_of(kind, keyword)).rows
    fails = [row_fails(row.outcome, keyword, strict=strict) for strict in (False, True)]
    assert TABLE[kind, keyword] == (row.outcome, *fails)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("kind", "keyword"), TABLE)
def test_the_verdict_follows_from_the_rows(kind: str, keyword: Keyword, strict: bool) -> None:
    outcome, fails, fails_strict = TABLE[kind, keyword]
    expected = Verdict.NONCONFORMANT if (fails_strict if strict else fails) else Verdict.CONFORMANT
    if outcome is Outcome.ERROR or (kind.startswith("not ") and expected is Verdict.CONFORMANT):  # nothing was judged
        expected = Verdict.INCONCLUSIVE
    assert expected == make_report(judgement_of(kind, keyword), strict=strict).verdict


def test_one_finding_among_many_good_judgements_fails_the_requirement() -> None:
    report = make_report(
        judgement_of("no finding", MUST), judgement_of("finding", MUST), judgement_of("not observed", MUST)
    )
    (row,) = report.rows
    assert (row.outcome, row.exchanges) == (Outcome.FAIL, 2)
    assert [finding.finding for finding in row.findings] == [FINDING]


def test_one_observation_is_enough_for_a_pass() -> None:
    (row,) = make_report(
        judgement_of("not observed", MUST), judgement_of("no finding", MUST), judgement_of("not exercised", MUST)
    ).rows
    assert row.outcome is Outcome.PASS


def test_an_internal_error_outweighs_a_finding_and_leaves_the_run_inconclusive() -> None:
    report = make_report(judgement_of("finding", MUST), judgement_of("error", MUST))
    assert (report.rows[0].outcome, report.verdict) == (Outcome.ERROR, Verdict.INCONCLUSIVE)
    assert report.rows[0].note == "topic.claim: ValueError: x"


def test_an_exhausted_budget_leaves_the_run_inconclusive_unless_something_fails() -> None:
    spent = "--max-requests 3"
    assert make_report(judgement_of("not observed", MUST), exhausted=spent).verdict is Verdict.INCONCLUSIVE
    assert make_report(judgement_of("no finding", MUST), exhausted=spent).verdict is Verdict.INCONCLUSIVE
    assert make_report(judgement_of("finding", MUST), exhausted=spent).verdict is Verdict.NONCONFORMANT
    assert make_report(judgement_of("finding", SHOULD), exhausted=spent).verdict is Verdict.INCONCLUSIVE
    assert make_report(judgement_of("finding", SHOULD), exhausted=spent, strict=True).verdict is Verdict.NONCONFORMANT


def test_a_run_that_judges_nothing_that_was_selected_is_inconclusive_and_says_why() -> None:
    unseen = replace(make_judgement(identity="topic.asked"), unobserved="no stream failed", applies=False)
    presupposed = make_judgement(identity="topic.presupposed")
    plan = Plan(load("openai"), (), (), (), partial=True, selected=frozenset({"topic.asked"}))
    report = build_report(plan, [unseen, presupposed], strict=False, exhausted=None)
    assert (report.verdict, [row.outcome for row in report.rows]) == (
        Verdict.INCONCLUSIVE,
        [Outcome.NOT_EXERCISED, Outcome.PASS],
    )
    assert report.unjudged is not None
    assert report.unjudged.startswith("1 selected requirement was not exercised (no stream failed); ")
    everything = replace(plan, selected=None)
    assert build_report(everything, [unseen, presupposed], strict=False, exhausted=None).verdict is Verdict.CONFORMANT


def test_a_failure_outweighs_that_nothing_that_was_selected_was_judged() -> None:
    plan = Plan(load("openai"), (), (), (), partial=True, selected=frozenset({"topic.asked"}))
    failing = replace(make_judgement(identity="topic.presupposed"), findings=(FINDING,))
    report = build_report(plan, [failing], strict=False, exhausted=None)
    assert (report.verdict, report.unjudged) == (Verdict.NONCONFORMANT, None)


@pytest.mark.parametrize("keyword", [MUST, SHOULD])
def test_a_requirement_is_not_exercised_if_all_its_requests_may_be_refused_and_are(keyword: Keyword) -> None:
    refused = replace(make_judgement(keyword), unobserved="it was refused", optional=True)
    lost = replace(make_judgement(keyword), unobserved="no answer")
    outcomes = [make_report(*group).rows[0].outcome for group in ([refused, refused], [refused, lost], [lost])]
    assert [Outcome.NOT_EXERCISED, Outcome.UNTESTABLE, Outcome.UNTESTABLE] == outcomes
    passing = make_report(refused, make_judgement(keyword)).rows[0]
    assert Outcome.PASS is passing.outcome


def test_an_untestable_row_lists_each_reason_once() -> None:
    first = replace(make_judgement(), unobserved="no answer")
    second = replace(make_judgement(), unobserved="too fast")
    (row,) = make_report(first, second, first).rows
    assert row.note == "no answer; too fast"


@pytest.mark.parametrize("reason", [DECIDED, ACCEPTED])
def test_an_unneeded_step_is_a_reason_only_if_there_is_no_other_reason(reason: str) -> None:
    unneeded = replace(make_judgement(), unobserved=reason, applies=False)
    other = replace(unneeded, unobserved="no code of HTTP")
    assert [[reason], ["no code of HTTP"]] == [
        [row.note for row in make_report(*judged).rows]
        for judged in ([unneeded, unneeded], [unneeded, other, unneeded])
    ]


def test_the_note_of_a_may_states_what_was_observed() -> None:
    (row,) = make_report(judgement_of("not observed", MAY)).rows
    assert row.note == "not seen: no answer"
    assert [row.note for row in make_report(judgement_of("no finding", MAY)).rows] == ["as described"]
    assert [row.note for row in make_report(judgement_of("finding", MAY)).rows] == ["not as described"]


def test_what_was_not_sent_has_a_row_and_never_fails_a_server() -> None:
    plan = Plan(
        load("openai"),
        (),
        (),
        (Requirement("topic.unreached", MUST, "document#a"),),
        (Capability("n", "Several choices.", "document#n", assumed=True),),
    )
    report = build_report(plan, (), strict=True, exhausted=None)
    assert {row.id: row.outcome for row in report.rows} == {
        "topic.unreached": Outcome.NOT_EXERCISED,
        "capability.n": Outcome.NOT_APPLICABLE,
    }
    assert report.verdict is Verdict.INCONCLUSIVE


def test_every_outcome_is_counted() -> None:
    rows = [
        replace(judgement_of(kind, MUST), assertion=make_judgement(identity=kind).assertion)
        for kind in ("no finding", "finding")
    ]
    assert (make_report(*rows).counts) == {
        "PASS": 1,
        "FAIL": 1,
        "WARN": 0,
        "OBSERVED": 0,
        "UNTESTABLE": 0,
        "NOT_EXERCISED": 0,
        "NOT_APPLICABLE": 0,
        "WAIVED": 0,
        "ERROR": 0,
    }


def test_the_summary_of_a_row_about_values_is_the_value_that_fails() -> None:
    def about(summary: str, *findings: Finding) -> Judgement:
        good = make_judgement(summary=summary)
        subject = Subject("topic.claim", "topic.claim", "n", MUST, "document#n", summary, 1, "accept")
        check = replace(good.assertion.check, by_subject=True)
        scenario = replace(good.assertion.scenario, subject=subject)
        return replace(good, assertion=replace(good.assertion, check=check, scenario=scenario), findings=findings)

    assert [row.summary for row in make_report(about("n: 1"), about("n: 2")).rows] == ["n: 1 (and 1 more)"]
    assert [row.summary for row in make_report(about("n: 1"), about("n: 2", FINDING)).rows] == ["n: 2"]
