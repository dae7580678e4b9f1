"""Sessions: the capabilities of a server, what is judged, and the results of an interrupted run."""

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
from conformance.run.session.options import RunOptions
from conformance.run.session.preparation import prepare_server
from conformance.run.session.sending import send
from conformance.tests.faulty_proxy import Reply
from conformance.tests.scripted import Scripted, json_reply, prepared
from openapi.contract.contract import Keyword, load

if TYPE_CHECKING:
    from conformance.tests.conftest import Good


GOODS = ["mindie-2.3", "openai"]  # results are handled in the same way for every dialect
DESCRIPTIONS: dict[str, tuple[Reply, frozenset[str], str]] = {
    "declares one": (
        json_reply({"info": {"x-capabilities": ["n", "unknown-capability"]}}),
        frozenset({"n"}),
        "the server's /openapi.json",
    ),
    "declares none": (json_reply({"info": {"x-capabilities": []}}), frozenset(), "the server's /openapi.json"),
    "has no field": (json_reply({"info": {}}), default_capabilities(load("mindie-2.3")).declared, "the dialect"),
    "is not a list": (
        json_reply({"info": {"x-capabilities": "n"}}),
        default_capabilities(load("mindie-2.3")).declared,
        "the dialect",
    ),
    "has invalid items": (
        json_reply({"info": {"x-capabilities": [{}, ["n"], None]}}),
        frozenset(),
        "the server's /openapi.json",
    ),
    "is HTML": (Reply(200, (b"<html>",)), default_capabilities(load("mindie-2.3")).declared, "the dialect"),
    "is missing": (json_reply({}, 404), default_capabilities(load("mindie-2.3")).declared, "the dialect"),
}


@pytest.mark.takes_turns
@pytest.mark.parametrize("kind", DESCRIPTIONS)
def test_capabilities_are_those_of_the_description_or_of_the_dialect(kind: str) -> None:
    description, declared, source = DESCRIPTIONS[kind]
    capabilities = prepared(Scripted(description=description)).declaration
    assert (declared, source) == (capabilities.declared, capabilities.source)
    if source != "the dialect":
        unjudged = {"media_urls", "media_paths"}  # without places of media, whatever the server declares
        assert set(load("mindie-2.3").capabilities) - declared - unjudged == capabilities.denied


def test_overrides_replace_declared_capabilities() -> None:
    description = json_reply({"info": {"x-capabilities": ["n"]}})
    overrides = (("n", False), ("tools", True))
    declaration = prepared(Scripted(description=description), capabilities=overrides).declaration
    assert ("tools" in declaration.declared, "n" in declaration.denied) == (True, True)
    assert "tools" not in declaration.denied
    assert (declaration.source_of("n"), declaration.source_of("logprobs")) == (
        "the command line",
        "the server's /openapi.json",
    )


def test_auth_is_judged_if_the_dialect_the_user_or_an_api_key_declares_it() -> None:
    def prepare_auth(dialect: str, secret: Secret | None = None, **options: Any) -> tuple[str, str, int]:
        run = prepared(Scripted(), dialect, secret, **options)
        judged = {assertion.scenario.id for assertion in run.plan.assertions if assertion.check.id.startswith("auth.")}
        return run.declaration.status_of("auth"), run.declaration.source_of("auth"), len(judged)

    asked = prepare_auth("openai", Secret("sk-0123456789abcdef"))
    assert ("declared", "the key, given or not") == asked[:2]
    assert asked[2] > 4
    assert prepare_auth("openai") == ("denied", "the key, given or not", 0)
    assert prepare_auth("openai", capabilities=(("auth", True),)) == ("declared", "the command line", asked[2])
    assert prepare_auth("siliconstorm")[:2] == ("declared", "the dialect")


@pytest.mark.takes_turns
@pytest.mark.parametrize(
    ("name", "option", "given"),
    [
        ("media_urls", "--media-host", {"media_host": "127.0.0.1"}),
        ("media_paths", "--media-path", {"media_path": "/data"}),
    ],
)
def test_media_at_a_place_that_is_not_given_cannot_be_declared(name: str, option: str, given: dict[str, Any]) -> None:
    declares = (("media", True), (name, True))
    with pytest.raises(UsageError, match=rf"--capability \+{name} requires {option}"):
        prepared(Scripted(), capabilities=declares)
    declaration = prepared(Scripted(), capabilities=declares, **given).declaration
    assert name in declaration.declared


def test_a_capability_that_is_not_in_the_dialect_is_refused() -> None:
    with pytest.raises(UsageError, match=r"mindie-2\.3 has no capability 'telepathy'"):
        prepared(Scripted(), capabilities=(("telepathy", True),))


def test_declared_capabilities_are_judged_and_others_must_be_refused() -> None:
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
    assert "n" in {capability.name for capability in draft(contract, none).undeclared}


def test_of_an_unsupported_parameter_only_neutral_values_are_sent_and_it_is_listed_as_undeclared() -> None:
    contract = load("openai")
    properties = {
        "presence_penalty": {"enum": [0.0, None], "x-lacking": "presence_penalty"},
        "messages": {"enum": [None], "x-lacking": "messages"},  # is required
        "tools": {"enum": [None], "x-lacking": "tools"},  # has a capability, which is denied
        "seed": {"x-lacking": "time"},
    }
    capabilities = sorted(set(contract.capabilities) - {"tools"})
    schemas = {"ChatCompletionRequest": {"properties": properties}}
    description = {"info": {"x-capabilities": capabilities}, "components": {"schemas": schemas}}
    declaration = capabilities_from_description(contract, description)
    assert declaration is not None
    assert declaration.neutral_only == {"presence_penalty"}
    plan = draft(contract, declaration)
    bodies = [step.body or {} for scenario in plan.scenarios for step in scenario.steps if step.expect == "answer"]
    assert {0.0, None} == {body.get("presence_penalty") for body in bodies}
    assert "presence_penalty" in {capability.name for capability in plan.undeclared}
    whole = draft(contract, replace(declaration, neutral_only=frozenset()))
    assert plan.uncovered == whole.uncovered
    assert len(plan.assertions) < len(whole.assertions)


def test_an_interrupted_run_is_judged_as_far_as_it_was_recorded(honest: str) -> None:
    async def run() -> tuple[Any, int]:
        options = RunOptions(url=honest, dialect="mindie-2.3", budget=BudgetLimits(concurrency=1))
        prepared_run = await prepare_server(options, None)
        counts: list[int] = []
        task = asyncio.current_task()
        assert task is not None

        def progress(record: Any) -> None:
            counts.append(len(record.exchanges))
            if len(record.exchanges) == 5:
                task.cancel()

        return await send(prepared_run, None, progress), max(counts)

    outcome, most = asyncio.run(run())
    assert (outcome.record.exhausted, outcome.report.verdict) == ("interrupted", "inconclusive")
    assert most <= len(outcome.results["exchanges"])
    assert outcome.report.counts["FAIL"] == 0


@pytest.mark.takes_turns
def test_a_record_read_from_its_results_is_judged_the_same(good: Good) -> None:
    outcome = good.outcome({})
    again = judge(
        [judgement.assertion for judgement in outcome.judgements],
        {
            (exchange.scenario, exchange.step): exchange
            for exchange in map(Exchange.from_dict, outcome.results["exchanges"])
        },
        good.contract,
        good.validator,
        good.model,
        {},
    )
    assert [judgement.findings for judgement in outcome.judgements] == [judgement.findings for judgement in again]
    assert [judgement.unobserved for judgement in outcome.judgements] == [judgement.unobserved for judgement in again]


@pytest.mark.takes_turns
def test_a_good_run_is_conformant_with_strict_too(good: Good) -> None:
    report = good.outcome({}, strict=True).report
    assert not [row.id for row in report.rows if report.fails(row, strict=True)]
    assert report.verdict == "conformant"


def test_denied_capabilities_are_removed_from_the_contract() -> None:
    contract = load("mindie-2.3")
    narrowed = narrow_to_declared(contract, frozenset())
    assert not narrowed.capabilities
    declared = DeclaredCapabilities(frozenset(contract.capabilities), frozenset(), "a test")
    assert narrow_to_declared(contract, declared.declared) == contract
    keywords = {assertion.requirement.keyword for assertion in draft(contract, declared).assertions}
    assert set(Keyword) == keywords
