"""Synthetic judgements and failing results for the tests of reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Applicability, Check, Finding
from conformance.judge.judgement import Judgement
from conformance.plan.assertion import Assertion
from conformance.proof.editing.answers import edit_answer
from conformance.proof.editing.responses import refuse
from conformance.scenario import Scenario, Step
from openapi.contract.contract import Keyword, Requirement

if TYPE_CHECKING:
    from conformance.exchange import Exchange
    from conformance.tests.conftest import Good

FINDING = Finding("/status", "200", "500")
STEP = Step()


def make_judgement(
    keyword: Keyword = Keyword.MUST, identity: str = "topic.claim", summary: str = "it holds"
) -> Judgement:
    """One judgement without a finding."""
    check = Check("topic.claim", summary, "", Applicability(lambda *_: True), lambda *_: iter(()))
    requirement = Requirement(identity, keyword, "document#anchor")
    return Judgement(Assertion(check, Scenario("one", "", (STEP,)), STEP, requirement, summary), ("one/main",))


_MADE: dict[tuple[str, bool, bool], dict[str, Any]] = {}


def results_with_failures(good: Good, *, strict: bool = False, is_whole: bool = False) -> dict[str, Any]:
    """Results of a quick run, or of a whole one, with failures and warnings, made once. Do not change them."""

    def break_(exchange: Exchange) -> Exchange:
        if not isinstance(exchange.json, dict) or "choices" not in exchange.json:
            return exchange
        if exchange.scenario == "conversation":
            return refuse(exchange)
        return edit_answer(exchange, lambda answer: answer.update(object="x", created=1))

    key, good = (good.contract.name, strict, is_whole), good if is_whole else good.quick
    if key not in _MADE:
        _MADE[key] = good.outcome(good.changed(break_), strict=strict).results
    return _MADE[key]
