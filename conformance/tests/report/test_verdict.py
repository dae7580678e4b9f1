"""Verdicts: the whole table of what was seen and how binding the requirement is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conformance.judge.rounds import DECIDED
from conformance.plan.plan import Plan
from conformance.report.verdict import Outcome, Verdict, build_report, row_fails
from conformance.scenario import Subject
from conformance.tests.report.judgements import FINDING, judgement
from openapi.contract.contract import Capability, Keyword, Requirement, load

if TYPE_CHECKING:
    from conformance.check import Finding
    from conformance.judge.judgement import Judgement
    from conformance.report.verdict import Report

MUST, SHOULD, MAY = Keyword.MUST, Keyword.SHOULD, Keyword.MAY


def seen(kind: str, keyword: Keyword) -> Judgement:
    """A judgement of that kind."""
    good = judgement(keyword)
    return {
        "nothing": good,
        "finding": replace(good, findings=(FINDING,)),
        "unobserved": replace(good, unobserved="no answer"),
        "idle": replace(good, unobserved="no usage", applies=False),
        "error": replace(good, error="topic.claim: ValueError: x"),
    }[kind]


def reported(*judgements: Judgement, strict: bool = False, exhausted: str | None = None) -> Report:
    """The report over some judgements."""
    return build_report(Plan(load("openai"), (), (), ()), judgements, strict=strict, exhausted=exhausted)


TABLE = {
    ("nothing", MUST): (Outcome.PASS, False, False),
    ("nothing", SHOULD): (Outcome.PASS, False, False),
    ("nothing", MAY): (Outcome.OBSERVED, False, False),
    ("finding", MUST): (Outcome.FAIL, True, True),
    ("finding", SHOULD): (Outcome.WARN, False, True),
    ("finding", MAY): (Outcome.OBSERVED, False, False),
    ("unobserved", MUST): (Outcome.UNTESTABLE, True, True),
    ("unobserved", SHOULD): (Outcome.UNTESTABLE, False, True),
    ("unobserved", MAY): (Outcome.OBSERVED, False, False),
    ("idle", MUST): (Outcome.NOT_EXERCISED, False, False),
    ("idle", SHOULD): (Outcome.NOT_EXERCISED, False, False),
    ("idle", MAY): (Outcome.NOT_EXERCISED, False, False),
    ("error", MUST): (Outcome.ERROR, False, False),
    ("error", SHOULD): (Outcome.ERROR, False, False),
    ("error", MAY): (Outcome.ERROR, False, False),
}


@pytest.mark.parametrize(("kind", "keyword"), TABLE)
def test_the_table_of_outcomes(kind: str, keyword: Keyword) -> None:
    (row,) = reported(seen(kind, keyword)).rows
    fails = [row_fails(row.outcome, keyword, strict=strict) for strict in (False, True)]
    assert TABLE[kind, keyword] == (row.outcome, *fails)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("kind", "keyword"), TABLE)
def test_the_verdict_follows_from_the_rows(kind: str, keyword: Keyword, strict: bool) -> None:
    outcome, fails, fails_strict = TABLE[kind, keyword]
    expected = Verdict.NONCONFORMANT if (fails_strict if strict else fails) else Verdict.CONFORMANT
    if outcome is Outcome.ERROR:
        expected = Verdict.INCONCLUSIVE
    assert expected == reported(seen(kind, keyword), strict=strict).verdict


def test_one_finding_among_many_good_judgements_fails_the_requirement() -> None:
    found = reported(seen("nothing", MUST), seen("finding", MUST), seen("unobserved", MUST))
    (row,) = found.rows
    assert (row.outcome, row.exchanges) == (Outcome.FAIL, 2)
    assert [finding.finding for finding in row.findings] == [FINDING]


def test_what_was_observed_once_is_not_untestable() -> None:
    (row,) = reported(seen("unobserved", MUST), seen("nothing", MUST), seen("idle", MUST)).rows
    assert row.outcome is Outcome.PASS


def test_an_error_of_ours_outweighs_a_finding_and_leaves_no_verdict() -> None:
    found = reported(seen("finding", MUST), seen("error", MUST))
    assert (found.rows[0].outcome, found.verdict) == (Outcome.ERROR, Verdict.INCONCLUSIVE)
    assert found.rows[0].note == "topic.claim: ValueError: x"


def test_a_budget_that_ran_out_leaves_no_verdict_unless_something_is_proven() -> None:
    spent = "--max-requests 3"
    assert reported(seen("unobserved", MUST), exhausted=spent).verdict is Verdict.INCONCLUSIVE
    assert reported(seen("nothing", MUST), exhausted=spent).verdict is Verdict.INCONCLUSIVE
    assert reported(seen("finding", MUST), exhausted=spent).verdict is Verdict.NONCONFORMANT
    assert reported(seen("finding", SHOULD), exhausted=spent).verdict is Verdict.INCONCLUSIVE
    assert reported(seen("finding", SHOULD), exhausted=spent, strict=True).verdict is Verdict.NONCONFORMANT


def test_the_reasons_of_an_untestable_row_are_told_once_each() -> None:
    first = replace(judgement(), unobserved="no answer")
    second = replace(judgement(), unobserved="too fast")
    (row,) = reported(first, second, first).rows
    assert row.note == "no answer; too fast"


def test_that_a_step_was_not_needed_is_a_reason_only_where_there_is_no_other() -> None:
    idle = replace(judgement(), unobserved=DECIDED, applies=False)
    other = replace(idle, unobserved="no code of HTTP")
    assert [[DECIDED], ["no code of HTTP"]] == [
        [row.note for row in reported(*judged).rows] for judged in ([idle, idle], [idle, other, idle])
    ]


def test_a_row_not_seen_says_so() -> None:
    (row,) = reported(seen("unobserved", MAY)).rows
    assert row.note == "not seen: no answer"
    assert [each.note for each in reported(seen("nothing", MAY)).rows] == ["as described"]
    assert [each.note for each in reported(seen("finding", MAY)).rows] == ["otherwise"]


def test_uncovered_requirements_and_undeclared_capabilities_have_rows() -> None:
    plan = Plan(
        load("openai"),
        (),
        (),
        (Requirement("topic.unreached", MUST, "document#a"),),
        (Capability("n", "Several choices.", "document#n", assumed=True),),
    )
    found = build_report(plan, (), strict=False, exhausted=None)
    assert {row.id: row.outcome for row in found.rows} == {
        "topic.unreached": Outcome.UNTESTABLE,
        "capability.n": Outcome.NOT_APPLICABLE,
    }
    assert found.verdict is Verdict.NONCONFORMANT


def test_every_outcome_is_counted() -> None:
    rows = [replace(seen(kind, MUST), assertion=judgement(identity=kind).assertion) for kind in ("nothing", "finding")]
    assert (reported(*rows).counts) == {
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


def test_a_row_about_values_is_summed_up_by_the_value_that_fails() -> None:
    def about(summary: str, *findings: Finding) -> Judgement:
        good = judgement(summary=summary)
        subject = Subject("topic.claim", "topic.claim", "n", MUST, "document#n", summary, 1, "accept")
        check = replace(good.assertion.check, by_subject=True)
        scenario = replace(good.assertion.scenario, subject=subject)
        return replace(good, assertion=replace(good.assertion, check=check, scenario=scenario), findings=findings)

    assert [row.summary for row in reported(about("n: 1"), about("n: 2")).rows] == ["n: 1 (and 1 more)"]
    assert [row.summary for row in reported(about("n: 1"), about("n: 2", FINDING)).rows] == ["n: 2"]
