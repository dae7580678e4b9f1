"""Synthetic judgements for the tests of reports."""

from __future__ import annotations

from conformance.check import Applicability, Check, Finding
from conformance.judge.judgement import Judgement
from conformance.plan.assertion import Assertion
from conformance.scenario import Scenario, Step
from openapi.contract.contract import Keyword, Requirement

FINDING = Finding("/status", "200", "500")
STEP = Step()


def make_judgement(
    keyword: Keyword = Keyword.MUST, identity: str = "topic.claim", summary: str = "it holds"
) -> Judgement:
    """One judgement without a finding."""
    check = Check("topic.claim", summary, "", Applicability(lambda *_: True), lambda *_: iter(()))
    requirement = Requirement(identity, keyword, "document#anchor")
    return Judgement(Assertion(check, Scenario("one", "", (STEP,)), STEP, requirement, summary), ("one/main",))
