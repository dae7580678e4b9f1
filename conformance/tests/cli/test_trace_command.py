"""Every sentence of every document can be traced to the checks and scenarios that test it, and back."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from chatproof import main
from conformance.cli.checks_command import MAX_SHOWN
from conformance.cli.tracing import trace_command
from conformance.cli.tracing.trace_command import count_kinds, declare_everything, trace_sentences
from conformance.judge.check_registry import gather_checks
from conformance.plan.coverage_map import CoverageMap
from conformance.proof.mutants import mutant
from conformance.run.drafting import draft
from openapi.contract.contract import Keyword, load
from openapi.contract.sentence import Home

if TYPE_CHECKING:
    from conformance.plan.traced_sentences import TracedSentence
    from openapi.contract.contract import Contract

DIALECTS = ("mindie-1.0", "mindie-2.3", "mindie-vllm-1.0", "openai", "ovms-2024", "siliconstorm", "vllm")
CHECKS = gather_checks()
STRENGTH = (Keyword.MUST, Keyword.SHOULD, Keyword.MAY)
UNSENT = ("unsupported/",)  # places without scenarios: it is open whether a server must refuse such parameters


@pytest.fixture(params=DIALECTS)
def contract(request: pytest.FixtureRequest) -> Contract:
    """Each dialect in turn."""
    return load(request.param)


@cache
def trace_dialect(dialect: str) -> tuple[TracedSentence, ...]:
    """Return the sentences of a dialect with what tests them. Drafting the plan takes more than a second."""
    return trace_sentences(load(dialect))


@pytest.fixture
def traced(contract: Contract) -> tuple[TracedSentence, ...]:
    """The sentences of the dialect with what tests them."""
    return trace_dialect(contract.name)


@cache
def map_places(dialect: str) -> CoverageMap:
    """Return what tests each place of a dialect's contract."""
    contract = load(dialect)
    return CoverageMap(contract, draft(contract, declare_everything(contract)))


def strongest(keywords: set[Keyword]) -> Keyword:
    return min(keywords, key=STRENGTH.index)


@pytest.mark.takes_turns
def test_every_sentence_is_tested_or_excluded(traced: tuple[TracedSentence, ...]) -> None:
    assert traced
    assert {item.sentence.id: item.dangling for item in traced if item.is_lost} == {}


def test_a_place_is_exercised_by_a_scenario(traced: tuple[TracedSentence, ...]) -> None:
    places = [item for item in traced if item.sentence.home.places]
    idle = [place.sentence.id for place in places if not place.scenarios]
    unsent = [place.sentence.id for place in places if place.sentence.home.places[0].startswith(UNSENT)]
    assert idle == unsent


def test_every_place_of_a_parameter_or_rule_has_scenarios(contract: Contract) -> None:
    coverage = CoverageMap(contract, draft(contract, declare_everything(contract)))
    places = {place for sentence in contract.sentences for place in sentence.home.places}
    generated = [place for place in sorted(places) if place.startswith(("parameters/", "rules/"))]
    assert [place for place in generated if not coverage.find_by_path(place)] == []


def test_every_check_that_a_sentence_names_judges_a_scenario(contract: Contract) -> None:
    coverage = CoverageMap(contract, draft(contract, declare_everything(contract)))
    named = {check for sentence in contract.sentences for check in sentence.home.checks}
    assert sorted(check for check in named if not coverage.find_by_check(check)) == []


def test_the_keyword_of_a_sentence_is_that_of_the_requirements_that_test_it(
    contract: Contract, traced: tuple[TracedSentence, ...]
) -> None:
    """It is the strongest keyword of the checks that it names, or the keyword of one of the values for its place."""
    for item in traced:
        sentence, home = item.sentence, item.sentence.home
        if home.kind == "check":
            expected = strongest({contract.requirements[check].keyword for check in home.checks})
            assert sentence.keyword == expected, sentence.id
        elif item.keywords:
            assert sentence.keyword in item.keywords, sentence.id


def test_every_requirement_that_cites_the_document_is_named_by_a_sentence(contract: Contract) -> None:
    """Requirements about single values are the exception: their sentences name places instead."""
    named = {check for sentence in contract.sentences for check in sentence.home.checks}
    own = {
        key
        for key, row in contract.requirements.items()
        if row.source.partition("#")[0] == contract.document.id and not CHECKS[key].by_subject
    }
    assert sorted(own - named) == []


def test_every_check_of_values_tests_the_place_of_a_sentence() -> None:
    tested = {check for dialect in DIALECTS for item in trace_dialect(dialect) for check in item.checks}
    of_values = {key for key, check in CHECKS.items() if check.by_subject}
    assert sorted(of_values - tested) == ["parameters.lacking-refused", "parameters.unknown-tolerated"]


def test_counts_add_up(traced: tuple[TracedSentence, ...]) -> None:
    counts = count_kinds(traced)
    assert counts["sentences"] == len(traced) == sum(counts[kind] for kind in trace_command.KINDS)


REACHED = {
    "parameters/top_p/schema/maximum": {
        "top_p-1.0-accepted",
        "top_p-0.99-accepted",
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
def test_a_place_has_the_scenarios_that_are_about_it(place: str) -> None:
    coverage = map_places("mindie-2.3")
    assert {assertion.scenario.id for assertion in coverage.find_by_path(place)} == REACHED[place]


def test_a_schema_of_answers_is_tested_by_answers_and_a_schema_of_requests_by_its_parameter() -> None:
    coverage = map_places("mindie-2.3")
    assert {assertion.check.id for assertion in coverage.find_by_path("schemas/Choice/required/message")} == {
        "answer.fits-schema"
    }
    assert {assertion.check.id for assertion in coverage.find_by_path("schemas/Usage")} == {
        "answer.fits-schema",
        "stream.chunks-fit-schema",
    }
    tools = coverage.find_by_path("schemas/ToolFunction/properties/strict")
    assert {tool.scenario.subject.parameter for tool in tools if tool.scenario.subject} == {"tools"}


def test_a_default_is_tested_by_a_pair_of_requests() -> None:
    coverage = map_places("mindie-2.3")
    assertions = coverage.find_by_path("parameters/temperature/default")
    assert {"parameters.temperature.default-held"} == {assertion.requirement.id for assertion in assertions}


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner(catch_exceptions=False, env={"COLUMNS": "200"}).invoke(main, arguments)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_command_shows_every_sentence_and_ends_with_the_counts(dialect: str) -> None:
    code, output, _ = run("spec", "trace", "--dialect", dialect)
    contract = load(dialect)
    assert code == 0
    assert not [sentence.id for sentence in contract.sentences if sentence.id not in output]
    numbers = ", ".join(f"{number} {word}" for word, number in count_kinds(trace_dialect(dialect)).items())
    assert output.splitlines()[-1] == f"{dialect}: {numbers}"
    assert ", 0 uncovered, 0 dangling" in numbers


def test_the_command_traces_all_documents() -> None:
    code, output, _ = run("spec", "trace")
    every = tuple(item for dialect in DIALECTS for item in trace_dialect(dialect))
    assert code == 0
    assert output.splitlines()[-1].startswith(f"all: {len(every)} sentences, ")
    titles = [f"{dialect}: the sentences of {load(dialect).document.id}" for dialect in DIALECTS]
    assert [line.rstrip() for line in output.splitlines() if line.rstrip() in titles] == titles


def test_the_command_writes_json() -> None:
    code, output, _ = run("spec", "trace", "--dialect", "mindie", "--format", "json")
    content = json.loads(output)
    (trace,) = content.values()
    assert (code, list(content)) == (0, ["mindie-2.3"])
    rows = {row["id"]: row for row in trace["sentences"]}
    assert trace["counts"] == count_kinds(trace_dialect("mindie-2.3"))
    assert rows["stream-done"]["home"] == {
        "kind": "check",
        "of": ["stream.done-last", "stream.done-once", "stream.nothing-after-done"],
    }
    assert rows["top-p-range"]["source"] == "mindie-llm-2.3#request/top_p"
    assert "top_p-1.1-refused" in rows["top-p-range"]["scenarios"]
    assert rows["transformers-version"]["scenarios"] == []
    assert rows["transformers-version"]["home"]["kind"] == "excluded"


INVALID = {
    "uncovered": (Home(), "neither tested nor excluded"),
    "unknown check": (Home(checks=("stream.no-such",)), "unknown check stream.no-such"),
    "check of another dialect": (
        Home(checks=("stream.usage-on-request",)),
        "check stream.usage-on-request is not a requirement of mindie-1.0",
    ),
    "dangling place": (Home(places=("parameters/no_such",)), "no value at parameters/no_such"),
    "no reason": (Home(excluded=" "), "excluded without a reason"),
}


@pytest.mark.takes_turns
@pytest.mark.parametrize("kind", INVALID)
def test_a_sentence_that_nothing_tests_fails_the_command(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    home, problem = INVALID[kind]
    contract = load("mindie-1.0")
    first, *others = contract.sentences
    broken = replace(contract, sentences=(replace(first, home=home), *others))
    monkeypatch.setattr(trace_command, "load_contract", lambda _: broken)
    code, output, _ = run("spec", "trace", "--dialect", "mindie-1.0")
    assert code == 1
    assert f"mindie-1.0: {first.id}: {problem}" in output.splitlines()
    code, output, _ = run("spec", "trace", "--dialect", "mindie-1.0", "--format", "json")
    assert code == 1
    counts = json.loads(output)["mindie-1.0"]["counts"]
    assert (counts["uncovered"], counts["dangling"]) == ((1, 0) if kind == "uncovered" else (0, 1))


def test_an_unknown_dialect_is_a_usage_error() -> None:
    code, _, errors = run("spec", "trace", "--dialect", "no-such")
    assert code == 2
    assert errors.startswith(
        "chatproof: --dialect: unknown dialect 'no-such': expected the path of a .yaml file, or one of "
    )
    assert errors.count("\n") == 1


def test_a_check_is_shown_with_its_mutant_its_scenarios_and_its_sentences() -> None:
    code, output, _ = run("checks", "show", "stream.done-last")
    assert code == 0
    assert mutant.gather_mutants()["stream.done-last"].defect in output
    assert re.search(r"mindie-2\.3  \d+ scenarios: [a-z-]+, [a-z-]+, [a-z-]+, [a-z-]+, \.\.\.", output)
    assert "mindie-llm-2.3#stream/done  MUST  the event [DONE] ends the stream" in output


def test_a_check_of_values_is_shown_with_the_sentences_whose_places_it_tests() -> None:
    code, output, _ = run("checks", "show", "parameters.null-as-documented")
    assert code == 0
    assert "mindie-vllm-1.0#request/stream  MUST  stream may be null" in output
    traced = trace_dialect("mindie-vllm-1.0")
    calling = [item for item in traced if "parameters.null-as-documented" in item.checks]
    assert f"and {len(calling) - MAX_SHOWN} more: chatproof spec trace --dialect mindie-vllm-1.0" in output


def test_a_check_of_generated_requests_is_shown_with_its_origin_and_its_keyword() -> None:
    code, output, _ = run("checks", "show", "drawn.status-documented")
    assert code == 0
    assert (
        "status_code_conformance of schemathesis, with --coverage N or --fuzz N; it has the keyword of errors.status-"
        in output
    )


FIRST_OF_TOPICS = {identity.partition(".")[0]: identity for identity in sorted(CHECKS, reverse=True)}


@pytest.mark.parametrize("identity", FIRST_OF_TOPICS.values())
def test_a_check_of_every_topic_can_be_shown(identity: str) -> None:
    code, output, _ = run("checks", "show", identity)
    assert code == 0
    assert output.startswith(f"{identity}\n")
    assert {dialect for dialect in DIALECTS if identity in load(dialect).requirements} <= set(output.split())
