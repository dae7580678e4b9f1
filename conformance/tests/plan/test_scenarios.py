"""Scenarios: what they send is consistent with the answer that they expect."""

from __future__ import annotations

import json
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from conformance.errors import HarnessError
from conformance.plan.capabilities import (
    DeclaredCapabilities,
    default_capabilities,
    narrow_to_declared,
)
from conformance.plan.scenarios import boundaries, boundary_request, boundary_values
from conformance.plan.scenarios.written import reading
from conformance.scenario import OMITTED, Scenario, Step
from conformance.stop_string import StopFrom
from conformance.tests.plan.listed_scenarios import list_for
from openapi.contract.contract import Keyword, load, names
from openapi.description.validation import Validator
from openapi.stream.strict_json import NOT_JSON, read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi.contract.contract import Contract

DIALECTS = sorted(set(names().values()))
FREE = ("hostile-", "other-headers")  # the server may refuse these, whether they are valid or not
UNKNOWN_MODEL = "chatproof-no-such-model"  # refused for a reason that is not in the description
OTHER_MODELS = ("unknown-model-similar", "model-in-other-case")  # likewise


def every(contract: Contract) -> DeclaredCapabilities:
    """All capabilities declared."""
    return DeclaredCapabilities(frozenset(contract.capabilities), frozenset(), "a test")


def none(contract: Contract) -> DeclaredCapabilities:
    """All capabilities denied."""
    return DeclaredCapabilities(frozenset(), frozenset(contract.capabilities), "a test")


DECLARED: dict[str, Callable[[Contract], DeclaredCapabilities]] = {
    "every": every,
    "none": none,
    "defaults": default_capabilities,
}


def scenarios(contract: Contract, capabilities: DeclaredCapabilities) -> tuple[Scenario, ...]:
    """All scenarios for a server with these capabilities."""
    _, listed = list_for(contract, capabilities)
    return listed


@pytest.fixture(params=DIALECTS)
def contract(request: pytest.FixtureRequest) -> Contract:
    """Each dialect in turn."""
    return load(request.param)


def chats(scenarios: tuple[Scenario, ...]) -> Iterator[tuple[Scenario, Step]]:
    """Yield every step that is sent to the chat endpoint with the right key."""
    for scenario in scenarios:
        for step in scenario.steps:
            if step.targets_chat and step.credentials == "given":
                yield scenario, step


@pytest.mark.takes_turns
@pytest.mark.parametrize("declared", DECLARED)
def test_requests_that_expect_an_answer_are_valid_and_others_are_not(contract: Contract, declared: str) -> None:
    declaration = DECLARED[declared](contract)
    validator = Validator(narrow_to_declared(contract, declaration.declared).with_server_limits())
    rules = contract.rules.values()  # a rule that JSON Schema cannot express is not in the description
    free = {f"{rule.id}-refused" for rule in rules if rule.schema is None}
    wrong = []
    for scenario, step in chats(scenarios(contract, declaration)):
        value = read_json(step.payload("m", "stop" if step.stop_from else None).decode(errors="replace")).value
        if step.expect == "either" and scenario.subject is None:
            continue
        valid = isinstance(value, dict) and not validator.request_problems(value)
        expected = step.expect == "answer" or (step.body or {}).get("model") == UNKNOWN_MODEL
        if scenario.id.startswith(FREE) or scenario.id in OTHER_MODELS:
            continue
        if scenario.subject is not None:
            expected = scenario.subject.expect == "accept"
        if expected != valid and scenario.id not in free:
            wrong.append(f"{scenario.id}/{step.name}: {'valid' if valid else 'invalid'}")
    assert not wrong


@pytest.mark.parametrize("declared", DECLARED)
def test_scenario_ids_and_step_names_are_unique(contract: Contract, declared: str) -> None:
    listed = scenarios(contract, DECLARED[declared](contract))
    identities = [scenario.id for scenario in listed]
    assert sorted(set(identities)) == sorted(identities)
    assert not [
        scenario.id for scenario in listed if len({step.name for step in scenario.steps}) != len(scenario.steps)
    ]


def test_every_scenario_has_a_summary(contract: Contract) -> None:
    assert not [scenario.id for scenario in scenarios(contract, every(contract)) if not scenario.summary.strip()]


def test_a_subject_and_its_step_expect_the_same(contract: Contract) -> None:
    for scenario in scenarios(contract, every(contract)):
        if scenario.subject is None:
            continue
        (step,) = scenario.steps
        kept = {"accept": "answer", "reject": "refusal"}[scenario.subject.expect]
        expected = {"either"} if scenario.subject.keyword is Keyword.MAY else {kept, "either"}
        assert step.expect in expected, scenario.id
        assert scenario.subject.source.partition("#")[2], scenario.id


def test_a_request_is_made_from_the_answer_to_an_earlier_step_that_expects_one(contract: Contract) -> None:
    for scenario in scenarios(contract, every(contract)):
        known: dict[str, Step] = {}
        for step in scenario.steps:
            if step.source is not None:
                assert known[step.source].expect == "answer"
                assert not scenario.together
            known[step.name] = step


def test_requests_that_expect_an_answer_ask_for_few_tokens(contract: Contract) -> None:
    long = [
        f"{scenario.id}/{step.name}: {step.tokens}"
        for scenario, step in chats(scenarios(contract, every(contract)))
        if step.tokens > 384
        and step.expect == "answer"
        and not fnmatchcase(scenario.id, "max_*tokens-*")
        and step.stop_after_events is None  # the client disconnects early
        and not step.name.startswith(("unlimited", "max_tokens-"))  # whether max_tokens has the documented default
    ]
    assert not long


def test_every_limit_is_tested_on_both_sides(contract: Contract) -> None:
    rows = {scenario.subject.requirement for scenario in boundaries.generate(contract) if scenario.subject is not None}
    missing = [
        f"{name}.{bound}-{side}"
        for name, parameter in contract.parameters.items()
        for bound in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
        if bound in parameter.schema
        for side in ("inside", "outside")
        if not any(row.startswith(f"parameters.{name}.{bound}-{side}") for row in rows)
        and not any(side == ("inside" if probe.expect == "accept" else "outside") for probe in parameter.probes)
    ]
    assert not missing


def test_every_parameter_is_tested_with_null_and_with_another_type(contract: Contract) -> None:
    rows = {scenario.subject.requirement for scenario in boundaries.generate(contract) if scenario.subject is not None}
    for name, parameter in contract.parameters.items():
        assert any(row.startswith(f"parameters.{name}.null") for row in rows), name
        typed = parameter.schema.get("type") is not None
        assert not typed or any(row.startswith(f"parameters.{name}.type") for row in rows), name


def test_a_required_parameter_is_left_out_once(contract: Contract) -> None:
    generated = {scenario.id: scenario for scenario in boundaries.generate(contract)}
    for name, parameter in contract.parameters.items():
        assert (f"{name}-missing-refused" in generated) == parameter.required
        if parameter.required:
            (step,) = generated[f"{name}-missing-refused"].steps
            assert name not in json.loads(step.payload("m"))


def test_a_required_limit_is_left_out_of_the_request_without_it() -> None:
    contract = load("openai")
    limit = replace(contract.parameters["max_tokens"], required=True)
    stricter = replace(contract, parameters={**contract.parameters, "max_tokens": limit})
    (step,) = next(one.steps for one in boundaries.generate(stricter) if one.id == "max_tokens-missing-refused")
    assert {"messages"} == set(step.body or {})


def test_one_stream_without_max_tokens_is_sent_and_cut_off_early(contract: Contract) -> None:
    bare = [
        scenario
        for scenario in boundaries.generate(contract)
        for step in scenario.steps
        if step.expect == "answer" and "max_tokens" not in (step.body or {})
    ]
    (step,) = bare[0].steps
    assert [scenario.id for scenario in bare] == ["max_tokens-missing-accepted"]
    assert json.loads(step.payload("m")) == {"model": "m", "messages": boundary_request.GREETING, "stream": True}
    assert step.stop_after_events == 2


def test_undeclared_capabilities_are_requested(contract: Contract) -> None:
    denied = {
        scenario.id: scenario.subject.keyword
        for scenario in scenarios(contract, none(contract))
        if scenario.id.endswith("-lacking") and scenario.subject is not None
    }
    assert not [scenario.id for scenario in scenarios(contract, every(contract)) if scenario.id.endswith("-lacking")]
    assert {Keyword.SHOULD} >= set(denied.values())
    unknown = DeclaredCapabilities(frozenset(), frozenset(), "a test")
    assert {Keyword.MAY} >= {
        scenario.subject.keyword
        for scenario in scenarios(contract, unknown)
        if scenario.id.endswith("-lacking") and scenario.subject is not None
    }


def test_the_numbers_around_a_limit_are_adjacent_float32_values() -> None:
    assert boundary_values._neighbour(1.0, up=True) == 1.0000001192092896
    assert boundary_values._neighbour(1.0, up=False) == 0.9999999403953552
    assert boundary_values._neighbour(-2.0, up=False) == -2.000000238418579
    assert boundary_values._neighbour(-2.0, up=True) == -1.9999998807907104
    assert boundary_values._neighbour(0.0, up=True) == 2.0**-126
    assert boundary_values._neighbour(0, up=False) == -(2.0**-126)


def test_only_the_model_is_added_to_a_body() -> None:
    assert json.loads(Step(body={"a": 1}).payload("m")) == {"model": "m", "a": 1}
    assert json.loads(Step(body={"a": 1}).payload("m", stop="x")) == {"model": "m", "a": 1, "stop": "x"}
    assert json.loads(Step(body={"model": "other"}).payload("m")) == {"model": "other"}
    assert json.loads(Step(body={"model": None}).payload("m")) == {"model": None}
    assert json.loads(Step(body={"model": OMITTED}).payload("m")) == {}
    assert Step(raw=b"{").payload("m") == b"{"
    assert Step(method="GET").payload("m") == b""


def test_malformed_bodies_are_not_json_and_not_an_object_bodies_are() -> None:
    scenarios = reading.read_scenarios(load("mindie-2.3"))
    raw = {scenario.id: scenario.steps[0].raw for scenario in scenarios}
    bodies = {name: body for name, body in raw.items() if body is not None}
    malformed = [body for name, body in bodies.items() if name.startswith("malformed-")]
    others = [body for name, body in bodies.items() if name.startswith("not-an-object-")]
    assert (len(malformed), len(others)) == (7, 4)
    for body in malformed:
        with pytest.raises(ValueError, match=r".*"):
            json.loads(body)
    assert not [body for body in others if isinstance(read_json(body.decode()).value, dict)]
    assert NOT_JSON not in [read_json(body.decode()).value for body in others]


def ids(dialect: str) -> set[str]:
    """Return the ids of the written scenarios of a dialect."""
    return {scenario.id for scenario in reading.read_scenarios(load(dialect))}


def test_a_scenario_whose_needs_are_not_in_the_contract_is_left_out() -> None:
    with_key = ids("siliconstorm")
    without = ids("mindie-2.3")
    assert {"key-missing", "key-missing-invalid", "key-missing-streamed", "key-wrong", "key-wrong-scheme"} <= with_key
    assert {"key"} == {name.partition("-")[0] for name in with_key - without}
    assert "usage-on-request" in ids("ovms-2024")
    assert "usage-on-request" not in without


def test_pruned_bodies_have_only_parameters_of_the_contract(contract: Contract) -> None:
    (mix,) = [scenario for scenario in reading.read_scenarios(contract) if scenario.id == "sampled-mix"]
    assert not [step.name for step in mix.steps if set(step.body or {}) - set(contract.parameters)]


STEP = {"ask": "Hello!", "body": {"max_tokens": 2}}
WRONG: dict[str, dict[str, Any]] = {
    "expected id and summary": {"summary": "x", "steps": [STEP]},
    "both strings": {"id": "x", "summary": None, "steps": [STEP]},
    "and steps": {"id": "x", "summary": "x", "steps": []},
    r"unknown key expect": {"id": "x", "summary": "x", "steps": [STEP], "expect": "answer"},
    r"invalid step; unknown key stream": {"id": "x", "summary": "x", "steps": [{**STEP, "stream": True}]},
}


@pytest.mark.parametrize("complaint", WRONG)
def test_an_invalid_written_scenario_is_refused(complaint: str) -> None:
    with pytest.raises(HarnessError, match=complaint):
        reading._scenario(WRONG[complaint], load("mindie-2.3"), "invalid.yaml")


def test_a_written_scenario_is_read_completely() -> None:
    row = yaml.safe_load("""
        id: x
        summary: all there is
        one_connection: true
        needs: {parameters: [n], capabilities: [tools]}
        steps:
          - {name: a, raw_hex: "ff00", headers: {X: y}, credentials: wrong, expect: refusal}
          - {name: b, ask: Hi, omit_model: true, stop_from: {step: a, length: 3}, stop_after_events: 2}
    """)
    assert reading._scenario(row, load("mindie-2.3"), "x.yaml") == Scenario(
        "x",
        "all there is",
        (
            Step("a", raw=b"\xff\x00", headers={"X": "y"}, credentials="wrong", expect="refusal"),
            Step(
                "b",
                body={"model": OMITTED, "messages": [{"role": "user", "content": "Hi"}]},
                stop_from=StopFrom("a", 3),
                stop_after_events=2,
            ),
        ),
        one_connection=True,
        capabilities=frozenset({"tools"}),
        parameters=frozenset({"n"}),
    )


STOPPED = Step("b", body={}, stop_from=StopFrom("a", 3))


@pytest.mark.parametrize(
    ("steps", "others", "why"),
    [
        ((Step("a", body={}), STOPPED), {"rounds": 2}, "its steps are sent in rounds"),
        ((Step("a", body={}), STOPPED), {"together": True}, "its steps are sent together"),
        ((STOPPED, Step("a", body={})), {}, "no earlier step has that name"),
        ((Step("b", body={}, continues="a"), Step("a", body={})), {}, "no earlier step has that name"),
    ],
)
def test_a_request_cannot_be_made_from_the_answer_to_a_step_that_is_not_sent_before(
    steps: tuple[Step, ...], others: dict[str, Any], why: str
) -> None:
    with pytest.raises(HarnessError, match=f"scenario s: step 'b' needs the answer to 'a', but {why}"):
        Scenario("s", "x", steps, **others)
    assert Scenario("s", "x", (Step("a", body={}), STOPPED)).steps[1] is STOPPED


@pytest.mark.parametrize(
    ("place", "length", "expected"),
    [("mark", 3, "(on"), ("blank", 1, " "), ("line-end", 1, "\n"), ("limit", 1, "ee")],
)
def test_a_stop_string_is_cut_at_its_place(place: Any, length: int, expected: str) -> None:
    assert expected == StopFrom("a", length, place).cut("a(one) two\nthree")
