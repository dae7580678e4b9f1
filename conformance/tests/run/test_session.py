"""Sessions: what a server declares, what is judged of it, and what is left of a run that was broken off."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.client.secret import Secret
from conformance.errors import UsageError
from conformance.exchange import Exchange
from conformance.judge.judgement import judge
from conformance.plan.capabilities import (
    DeclaredCapabilities,
    capabilities_from_description,
    default_capabilities,
    narrow_to_declared,
)
from conformance.record import BudgetLimits
from conformance.run.drafting import draft
from conformance.run.session import RunOptions, prepare_server, send
from conformance.tests.faulty_proxy import Reply
from conformance.tests.scripted import Scripted, prepared, saying
from openapi.contract.contract import Keyword, load

if TYPE_CHECKING:
    from conformance.tests.conftest import Good


DESCRIPTIONS: dict[str, tuple[Reply, frozenset[str], str]] = {
    "says": (saying({"info": {"x-capabilities": ["n", "unheard-of"]}}), frozenset({"n"}), "the server's /openapi.json"),
    "says none": (saying({"info": {"x-capabilities": []}}), frozenset(), "the server's /openapi.json"),
    "says nothing": (saying({"info": {}}), default_capabilities(load("mindie-2.3")).declared, "the dialect"),
    "is no list": (
        saying({"info": {"x-capabilities": "n"}}),
        default_capabilities(load("mindie-2.3")).declared,
        "the dialect",
    ),
    "is odd": (saying({"info": {"x-capabilities": [{}, ["n"], None]}}), frozenset(), "the server's /openapi.json"),
    "is a page": (Reply(200, (b"<html>",)), default_capabilities(load("mindie-2.3")).declared, "the dialect"),
    "is absent": (saying({}, 404), default_capabilities(load("mindie-2.3")).declared, "the dialect"),
}


@pytest.mark.parametrize("kind", DESCRIPTIONS)
def test_capabilities_are_what_the_server_says_else_what_the_dialect_assumes(kind: str) -> None:
    description, declared, source = DESCRIPTIONS[kind]
    found = prepared(Scripted(description=description)).declaration
    assert (declared, source) == (found.declared, found.source)
    if source != "the dialect":
        assert set(load("mindie-2.3").capabilities) - declared == found.denied


def test_the_user_has_the_last_word_on_capabilities() -> None:
    description = saying({"info": {"x-capabilities": ["n"]}})
    found = prepared(Scripted(description=description), capabilities=(("n", False), ("tools", True))).declaration
    assert ("tools" in found.declared, "n" in found.denied, "tools" in found.denied) == (True, True, False)
    assert (found.source_of("n"), found.source_of("logprobs")) == ("the command line", "the server's /openapi.json")


def test_keys_are_judged_where_the_dialect_the_server_the_user_or_his_key_says_that_there_are_some() -> None:
    def of(dialect: str, secret: Secret | None = None, **wishes: Any) -> tuple[str, str, int]:
        found = prepared(Scripted(), dialect, secret, **wishes)
        judged = {
            assertion.scenario.id for assertion in found.plan.assertions if assertion.check.id.startswith("auth.")
        }
        return found.declaration.status_of("auth"), found.declaration.source_of("auth"), len(judged)

    asked = of("openai", Secret("sk-0123456789abcdef"))
    assert ("declared", "the key, given or not") == asked[:2]
    assert asked[2] > 4
    assert of("openai") == ("denied", "the key, given or not", 0)
    assert of("openai", capabilities=(("auth", True),)) == ("declared", "the command line", asked[2])
    assert of("siliconstorm")[:2] == ("declared", "the dialect")


def test_a_capability_that_the_dialect_has_not_is_refused() -> None:
    with pytest.raises(UsageError, match=r"mindie-2\.3 has no capability 'telepathy'"):
        prepared(Scripted(), capabilities=(("telepathy", True),))


def test_only_what_is_declared_is_judged_and_the_rest_must_be_refused() -> None:
    contract = load("mindie-2.3")
    every, none = (
        capabilities_from_description(contract, {"info": {"x-capabilities": ["n"]}}),
        capabilities_from_description(contract, {"info": {"x-capabilities": []}}),
    )
    assert every is not None
    assert none is not None
    accepted = {assertion.scenario.id for assertion in draft(contract, every).assertions}
    refused = {assertion.scenario.id for assertion in draft(contract, none).assertions}
    assert "n-needs-temperature-accepted" in accepted - refused
    assert "n-lacking" in refused - accepted
    assert "n" in {each.name for each in draft(contract, none).undeclared}


def test_a_parameter_that_the_server_says_it_lacks_is_not_sent_and_stands_as_not_declared() -> None:
    contract = load("openai")
    properties = {
        "presence_penalty": {"enum": [0.0, None], "x-lacking": "presence_penalty"},
        "messages": {"enum": [None], "x-lacking": "messages"},  # nobody can do without
        "tools": {"enum": [None], "x-lacking": "tools"},  # the capability is denied already
        "seed": {"x-lacking": "time"},
    }
    capabilities = sorted(set(contract.capabilities) - {"tools"})
    schemas = {"ChatCompletionRequest": {"properties": properties}}
    said = {"info": {"x-capabilities": capabilities}, "components": {"schemas": schemas}}
    declaration = capabilities_from_description(contract, said)
    assert declaration is not None
    assert declaration.neutral_only == {"presence_penalty"}
    plan = draft(contract, declaration)
    bodies = [step.body or {} for scenario in plan.scenarios for step in scenario.steps if step.expect == "answer"]
    assert {None} == {body.get("presence_penalty") for body in bodies}
    assert "presence_penalty" in {each.name for each in plan.undeclared}
    whole = draft(contract, replace(declaration, neutral_only=frozenset()))
    assert plan.uncovered == whole.uncovered
    assert len(plan.assertions) < len(whole.assertions)


def test_a_run_that_is_broken_off_is_judged_as_far_as_it_came(honest: str) -> None:
    async def run() -> tuple[Any, int]:
        wishes = RunOptions(url=honest, dialect="mindie-2.3", budget=BudgetLimits(concurrency=1))
        found = await prepare_server(wishes, None)
        capabilities_from_description: list[int] = []
        task = asyncio.current_task()
        assert task is not None

        def progress(record: Any) -> None:
            capabilities_from_description.append(len(record.exchanges))
            if len(record.exchanges) == 5:
                task.cancel()

        return await send(found, None, progress), max(capabilities_from_description)

    outcome, most = asyncio.run(run())
    assert (outcome.record.exhausted, outcome.report.verdict) == ("interrupted", "inconclusive")
    assert most <= len(outcome.results["exchanges"])
    assert outcome.report.counts["FAIL"] == 0


def test_a_record_is_judged_alike_by_every_way_that_leads_to_a_judgement(good: Good) -> None:
    outcome = good.outcome({})
    again = judge(
        outcome.prepared.plan.assertions,
        {(each.scenario, each.step): each for each in map(Exchange.from_dict, outcome.results["exchanges"])},
        good.contract,
        good.validator,
        good.model,
        {},
    )
    assert [judgement.findings for judgement in outcome.judgements] == [each.findings for each in again]
    assert [judgement.unobserved for judgement in outcome.judgements] == [each.unobserved for each in again]


def test_a_good_run_is_conformant_even_strictly(good: Good) -> None:
    report = good.outcome({}, strict=True).report
    assert not [row.id for row in report.rows if report.fails(row, strict=True)]
    assert report.verdict == "conformant"


def test_what_a_server_denies_is_narrowed_out_of_its_contract() -> None:
    contract = load("mindie-2.3")
    narrowed = narrow_to_declared(contract, frozenset())
    assert not narrowed.capabilities
    declared = DeclaredCapabilities(frozenset(contract.capabilities), frozenset(), "a test")
    assert narrow_to_declared(contract, declared.declared) == contract
    keywords = {assertion.requirement.keyword for assertion in draft(contract, declared).assertions}
    assert set(Keyword) == keywords
