"""The trace: every sentence of every document can be followed to what watches over it, and back."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from chatproof import main
from conformance.check import gather
from conformance.cli import trace_command as tracing
from conformance.cli.checks_command import SHOWN
from conformance.cli.trace_command import count, everything, trace
from conformance.plan.coverage_map import Reach
from conformance.proof.mutants import mutant
from conformance.run.session import draft
from openapi.contract.contract import Keyword, load
from openapi.contract.sentence import Home

if TYPE_CHECKING:
    from conformance.cli.trace_command import Traced
    from openapi.contract.contract import Contract

DIALECTS = ("mindie-1.0", "mindie-2.3", "mindie-vllm-1.0", "openai", "ovms-2024", "siliconstorm", "vllm")
CHECKS = gather()
STRENGTH = (Keyword.MUST, Keyword.SHOULD, Keyword.MAY)
UNSENT = ("unsupported/",)  # places that no scenario can be made from: whether such parameters are refused is open


@pytest.fixture(params=DIALECTS)
def contract(request: pytest.FixtureRequest) -> Contract:
    """Each dialect in turn."""
    return load(request.param)


@pytest.fixture
def traced(contract: Contract) -> tuple[Traced, ...]:
    """Its sentences with what stands behind them."""
    return trace(contract)


def strongest(keywords: set[Keyword]) -> Keyword:
    return min(keywords, key=STRENGTH.index)


def test_no_sentence_is_lost(traced: tuple[Traced, ...]) -> None:
    assert traced
    assert {each.sentence.id: each.dangling for each in traced if each.lost} == {}


def test_a_place_is_exercised_by_a_scenario(traced: tuple[Traced, ...]) -> None:
    places = [each for each in traced if each.sentence.home.places]
    idle = [place.sentence.id for place in places if not place.scenarios]
    unsent = [place.sentence.id for place in places if place.sentence.home.places[0].startswith(UNSENT)]
    assert idle == unsent


def test_every_place_of_a_parameter_or_rule_is_exercised_by_itself(contract: Contract) -> None:
    reach = Reach(contract, draft(contract, everything(contract)))
    places = {place for sentence in contract.sentences for place in sentence.home.places}
    generated = [place for place in sorted(places) if place.startswith(("parameters/", "rules/"))]
    assert [place for place in generated if not reach.of_place(place)] == []


def test_a_check_that_is_a_home_has_something_to_judge(contract: Contract) -> None:
    reach = Reach(contract, draft(contract, everything(contract)))
    named = {check for sentence in contract.sentences for check in sentence.home.checks}
    assert sorted(check for check in named if not reach.of_check(check)) == []


def test_keywords_are_those_of_the_requirements_behind(contract: Contract, traced: tuple[Traced, ...]) -> None:
    """A sentence is as binding as the strongest check that it calls for, or as one of the values that try its place."""
    for each in traced:
        sentence, home = each.sentence, each.sentence.home
        if home.kind == "check":
            expected = strongest({contract.requirements[check].keyword for check in home.checks})
            assert sentence.keyword == expected, sentence.id
        elif each.keywords:
            assert sentence.keyword in each.keywords, sentence.id


def test_every_requirement_that_cites_the_document_is_called_for(contract: Contract) -> None:
    """Requirements of single values stand behind places; all others are named by a sentence."""
    called = {check for sentence in contract.sentences for check in sentence.home.checks}
    own = {
        key
        for key, row in contract.requirements.items()
        if row.source.partition("#")[0] == contract.document.id and not CHECKS[key].by_subject
    }
    assert sorted(own - called) == []


def test_every_kind_of_value_is_behind_some_place() -> None:
    behind = {check for dialect in DIALECTS for each in trace(load(dialect)) for check in each.checks}
    of_values = {key for key, check in CHECKS.items() if check.by_subject}
    assert sorted(of_values - behind) == ["parameters.lacking-refused", "parameters.unknown-tolerated"]


def test_counts_add_up(traced: tuple[Traced, ...]) -> None:
    found = count(traced)
    assert found["sentences"] == len(traced) == sum(found[kind] for kind in tracing.KINDS)


REACHED = {
    "parameters/top_p/schema/maximum": {
        "top_p-1.0-accepted",
        "top_p-1.0000001192092896-refused",
        "top_p-1.1-refused",
    },
    "parameters/top_p/null_value": {"top_p-null-accepted"},
    "parameters/model/required": {"model-missing-refused"},
    "parameters/messages/probes/role-unknown": {"messages-role-unknown-refused"},
    "parameters/stop/probes/empty-list": {"stop-empty-list-accepted"},
    "parameters/top_p/probes/1": {"top_p-1-accepted"},
    "parameters/ignore_eos/schema/type": {
        *("ignore_eos-true-accepted", "ignore_eos-false-accepted", "ignore_eos-text-true-refused"),
        *("ignore_eos-1-refused", "ignore_eos-list-refused", "ignore_eos-object-refused"),
    },
    "rules/n-needs-temperature": {"n-needs-temperature-refused", "n-needs-temperature-accepted"},
    "rules/no-such-rule": set(),
    "rules/messages-size": set(),
    "parameters/no_such_parameter": set(),
    "parameters/top_p/probes/no-such-probe": set(),
    "capabilities/n": set(),
}


@pytest.mark.parametrize("place", REACHED)
def test_a_place_reaches_the_scenarios_that_are_about_it(place: str) -> None:
    contract = load("mindie-2.3")
    reach = Reach(contract, draft(contract, everything(contract)))
    assert {each.scenario.id for each in reach.of_place(place)} == REACHED[place]


def test_a_schema_of_answers_is_reached_by_answers_and_one_of_requests_by_its_parameter() -> None:
    contract = load("mindie-2.3")
    reach = Reach(contract, draft(contract, everything(contract)))
    assert {each.check.id for each in reach.of_place("schemas/Choice/required/message")} == {"answer.fits-schema"}
    assert {each.check.id for each in reach.of_place("schemas/Usage")} == {
        "answer.fits-schema",
        "stream.chunks-fit-schema",
    }
    tools = reach.of_place("schemas/ToolFunction/properties/strict")
    assert {tool.scenario.subject.parameter for tool in tools if tool.scenario.subject} == {"tools"}


def test_a_default_is_exercised_where_the_parameter_is_left_out() -> None:
    contract = load("mindie-2.3")
    found = Reach(contract, draft(contract, everything(contract))).of_place("parameters/temperature/default")
    assert found
    assert not [each.id for each in found if "temperature" in (each.step.body or {})]


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner(catch_exceptions=False).invoke(main, arguments)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_command_shows_every_sentence_and_ends_with_the_counts(dialect: str) -> None:
    code, said, _ = run("spec", "trace", "--dialect", dialect)
    contract = load(dialect)
    assert code == 0
    assert not [sentence.id for sentence in contract.sentences if sentence.id not in said]
    numbers = ", ".join(f"{number} {word}" for word, number in count(trace(contract)).items())
    assert said.splitlines()[-1] == f"{dialect}: {numbers}"
    assert ", 0 homeless, 0 dangling" in numbers


def test_the_command_traces_all_documents() -> None:
    code, said, _ = run("spec", "trace")
    every = tuple(each for dialect in DIALECTS for each in trace(load(dialect)))
    assert code == 0
    assert said.splitlines()[-1].startswith(f"all: {len(every)} sentences, ")
    titles = [f"{dialect}: what {load(dialect).document.id} says" for dialect in DIALECTS]
    assert [line.rstrip() for line in said.splitlines() if line.rstrip() in titles] == titles


def test_the_command_writes_json() -> None:
    code, said, _ = run("spec", "trace", "--dialect", "mindie", "--format", "json")
    content = json.loads(said)
    (found,) = content.values()
    assert (code, list(content)) == (0, ["mindie-2.3"])
    rows = {row["id"]: row for row in found["sentences"]}
    assert found["counts"] == count(trace(load("mindie")))
    assert rows["stream-done"]["home"] == {
        "kind": "check",
        "of": ["stream.done-last", "stream.done-once", "stream.nothing-after-done"],
    }
    assert rows["top-p-range"]["source"] == "mindie-llm-2.3#request/top_p"
    assert "top_p-1.1-refused" in rows["top-p-range"]["scenarios"]
    assert rows["transformers-version"]["scenarios"] == []
    assert rows["transformers-version"]["home"]["kind"] == "excluded"


LOST = {
    "homeless": (Home(), "a sentence without a home"),
    "unknown check": (Home(checks=("stream.no-such",)), "no check is called stream.no-such"),
    "check of another dialect": (
        Home(checks=("stream.usage-on-request",)),
        "stream.usage-on-request is no requirement of mindie-1.0",
    ),
    "dangling place": (Home(places=("parameters/no_such",)), "nothing stands at parameters/no_such"),
    "no reason": (Home(excluded=" "), "excluded without a reason"),
}


@pytest.mark.parametrize("kind", LOST)
def test_a_sentence_that_nothing_watches_over_fails_the_command(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    home, complaint = LOST[kind]
    contract = load("mindie-1.0")
    first, *others = contract.sentences
    broken = replace(contract, sentences=(replace(first, home=home), *others))
    monkeypatch.setattr(tracing, "contract_of", lambda _: broken)
    code, said, _ = run("spec", "trace", "--dialect", "mindie-1.0")
    assert code == 1
    assert f"mindie-1.0: {first.id}: {complaint}" in said.splitlines()
    code, said, _ = run("spec", "trace", "--dialect", "mindie-1.0", "--format", "json")
    assert code == 1
    counts = json.loads(said)["mindie-1.0"]["counts"]
    assert (counts["homeless"], counts["dangling"]) == ((1, 0) if kind == "homeless" else (0, 1))


def test_a_dialect_that_nobody_knows_is_a_wrong_usage() -> None:
    code, _, said = run("spec", "trace", "--dialect", "no-such")
    assert code == 2
    assert said.startswith("chatproof: --dialect 'no-such' is unknown; there are: ")
    assert said.count("\n") == 1


def test_a_check_shows_its_mutant_its_scenarios_and_the_sentences_that_call_for_it() -> None:
    code, said, _ = run("checks", "show", "stream.done-last")
    assert code == 0
    assert mutant.gather()["stream.done-last"].sin in said
    assert re.search(r"mindie-2\.3  \d+ scenarios: [a-z-]+, [a-z-]+, [a-z-]+, [a-z-]+, \.\.\.", said)
    assert "mindie-llm-2.3#stream/done  MUST  the event [DONE] ends the stream" in said


def test_a_check_of_values_shows_the_sentences_whose_places_it_holds() -> None:
    code, said, _ = run("checks", "show", "parameters.null-as-documented")
    assert code == 0
    assert "mindie-vllm-1.0#request/stream  MUST  stream may be null" in said
    calling = [each for each in trace(load("mindie-vllm-1.0")) if "parameters.null-as-documented" in each.checks]
    assert f"and {len(calling) - SHOWN} more: chatproof spec trace --dialect mindie-vllm-1.0" in said


def test_a_check_of_drawn_scenarios_shows_whose_it_is_and_how_binding() -> None:
    code, said, _ = run("checks", "show", "drawn.status-documented")
    assert code == 0
    assert "schemathesis's status_code_conformance, with --coverage N or --fuzz N; it binds as errors.status-" in said


@pytest.mark.parametrize("identity", sorted(CHECKS))
def test_every_check_can_be_shown(identity: str) -> None:
    code, said, _ = run("checks", "show", identity)
    assert code == 0
    assert said.startswith(f"{identity}\n")
    assert {dialect for dialect in DIALECTS if identity in load(dialect).requirements} <= set(said.split())
