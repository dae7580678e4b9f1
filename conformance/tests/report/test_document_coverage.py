"""The sentences of a document are counted once each, by what happened to them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.plan.capabilities import default_capabilities
from conformance.plan.capability_use import list_unjudged
from conformance.report.document_coverage import STATES, count_sentences
from conformance.report.outcome import Outcome
from conformance.report.verdict import build_report
from conformance.report.writers.cause_groups import describe_document
from conformance.run.drafting import draft
from conformance.tests.report.judgements import make_judgement
from openapi.contract.capability import Capability
from openapi.contract.contract import load

if TYPE_CHECKING:
    from conformance.judge.judgement import Judgement
    from conformance.plan.plan import Plan

CONTRACT = load("mindie-2.3")


@pytest.fixture(scope="module")
def plan() -> Plan:
    """The plan for a server without a description: tools and thinking are assumed to be missing."""
    return draft(CONTRACT, default_capabilities(CONTRACT))


def count(plan: Plan, *, exhausted: bool = False, **changes: Any) -> dict[str, Any]:
    """Count the sentences of a run in which every judgement has these changes."""
    judgements = [
        replace(make_judgement(), assertion=assertion, exchanges=("one/main",), **changes)
        for assertion in plan.assertions
    ]
    rows = build_report(plan, judgements, strict=False, exhausted=None).rows
    sent = () if exhausted else [row.id for row in rows]
    counts = count_sentences(CONTRACT, plan, rows, sent, exhausted=exhausted)
    assert sum(counts[state] for state in STATES) == counts["sentences"] == len(CONTRACT.sentences)
    return counts


@pytest.mark.parametrize(
    ("name", "hint"),
    [("tools", "--capability +tools"), ("media_urls", "--media-host"), ("media_paths", "--media-path")],
)
def test_the_hint_about_an_undeclared_capability_is_the_option_that_makes_it_judged(name: str, hint: str) -> None:
    counts = dict.fromkeys(STATES, 1) | {"sentences": 5, "undeclared_capabilities": {name: 1}}
    target = {"document": {"id": "d"}, "capability_origins": {name: {"status": "unknown"}}}
    *_, line = describe_document({"document": counts, "target": target, "run": {}})
    assert line.endswith(f"; judge them with {hint}")


def test_undeclared_capabilities_are_named_with_their_sentences(plan: Plan) -> None:
    counts = count(plan)
    assert counts["judged"] > 100
    assert counts["not_declared"] > 20
    assert set(counts["undeclared_capabilities"]) == {"media", "media_paths", "media_urls", "thinking", "tools"}
    assert sum(counts["undeclared_capabilities"].values()) >= counts["not_declared"]


def test_what_no_answer_shows_is_not_exercised(plan: Plan) -> None:
    counts = count(plan, unobserved="no usage", applies=False)
    assert (counts["judged"], counts["not_sent"]) == (0, 0)
    assert counts["not_exercised"] > 100


def test_what_a_budget_leaves_out_is_not_sent(plan: Plan) -> None:
    counts = count(plan, exhausted=True, unobserved="it was not sent")
    assert (counts["judged"], counts["not_exercised"]) == (0, 0)
    assert counts["not_sent"] > 100


def test_what_the_user_leaves_out_is_not_sent() -> None:
    counts = count(draft(CONTRACT, default_capabilities(CONTRACT), only=("stream.done-last",)))
    assert 1 <= counts["judged"] < 20
    assert counts["not_sent"] > 100
    assert counts["not_declared"] > 20


def test_a_declared_capability_that_no_requirement_judges_is_untestable(plan: Plan) -> None:
    telepathy = Capability("telepathy", "The server knows the answer.", "mindie-llm-2.3#request", assumed=False)
    contract = replace(plan.contract, capabilities={**plan.contract.capabilities, "telepathy": telepathy})
    widened = replace(plan, contract=contract)
    assert list_unjudged(plan) == ()
    assert list_unjudged(widened) == (telepathy,)
    assert list_unjudged(replace(widened, partial=True)) == ()
    judgements: list[Judgement] = []
    (row,) = (
        row
        for row in build_report(
            replace(widened, assertions=(), unjudged=(telepathy,)), judgements, strict=True, exhausted=None
        ).rows
        if row.id == "capability.telepathy"
    )
    assert row.outcome is Outcome.UNTESTABLE
    assert row.note == "declared, but no requirement judges it"


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ({"depth": "standard"}, "2 not sent at --depth standard"),
        ({"depth": "thorough"}, "2 not sent"),
        ({"depth": "standard", "topics": ["usage"]}, "2 not sent"),
        ({"depth": "quick", "exhausted": "60 s are over"}, "2 not sent"),
    ],
)
def test_sentences_that_were_not_sent_name_the_depth_if_nothing_else_left_them_out(
    run: dict[str, object], words: str
) -> None:
    counts = {"sentences": 3, "judged": 1, "not_exercised": 0, "not_declared": 0, "not_sent": 2, "excluded": 0}
    target = {"document": {"id": "a-document"}}
    judged = {"document": {**counts, "undeclared_capabilities": {}}, "target": target, "run": run}
    assert [f"1 of 3 sentences of a-document judged; {words}"] == list(describe_document(judged))
