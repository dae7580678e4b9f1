"""Scenarios: what is sent agrees with what the contract says must come back."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from conformance.errors import HarnessError
from conformance.plan.capabilities import DeclaredCapabilities, default_capabilities, narrow_contract, narrow_to_declared
from conformance.plan.scenarios import boundaries, list_scenarios, written
from conformance.scenario import OMITTED, Scenario, Step, StopFrom
from openapi.contract.contract import Keyword, load, names
from openapi.description.validation import Validator
from openapi.stream.strict_json import NOT_JSON, read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi.contract.contract import Contract

DIALECTS = sorted(set(names().values()))
FREE = ("hostile-", "other-headers")  # valid or not: the server may refuse them
UNKNOWN_MODEL = "chatproof-no-such-model"  # refused for what no description can know


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
    return list_scenarios(contract, narrow_contract(contract, capabilities), capabilities)


@pytest.fixture(params=DIALECTS)
def contract(request: pytest.FixtureRequest) -> Contract:
    """Each dialect in turn."""
    return load(request.param)


def chats(found: tuple[Scenario, ...]) -> Iterator[tuple[Scenario, Step]]:
    """Every step that goes to the chat endpoint with the right key."""
    for scenario in found:
        for step in scenario.steps:
            if step.targets_chat and step.credentials == "given":
                yield scenario, step


@pytest.mark.parametrize("declared", DECLARED)
def test_what_must_be_answered_is_valid_and_what_must_be_refused_is_not(contract: Contract, declared: str) -> None:
    declaration = DECLARED[declared](contract)
    validator = Validator(narrow_to_declared(contract, declaration.declared))
    rules = contract.rules.values()  # those that bind nobody need not stand in the description
    free = {f"{rule.id}-refused" for rule in rules if rule.schema is None and rule.keyword is Keyword.MAY}
    wrong = []
    for scenario, step in chats(scenarios(contract, declaration)):
        value = read_json(step.payload("m", "stop" if step.stop_from else None).decode(errors="replace")).value
        if step.expect == "either" and scenario.subject is None:
            continue
        valid = isinstance(value, dict) and not validator.request_problems(value)
        expected = step.expect == "answer" or (step.body or {}).get("model") == UNKNOWN_MODEL
        if scenario.id.startswith(FREE):
            continue
        if scenario.subject is not None:
            expected = scenario.subject.expect == "accept"
        if expected != valid and scenario.id not in free:
            wrong.append(f"{scenario.id}/{step.name}: {'valid' if valid else 'invalid'}")
    assert not wrong


@pytest.mark.parametrize("declared", DECLARED)
def test_ids_are_unique_and_steps_have_names_of_their_own(contract: Contract, declared: str) -> None:
    found = scenarios(contract, DECLARED[declared](contract))
    identities = [each.id for each in found]
    assert sorted(set(identities)) == sorted(identities)
    assert not [each.id for each in found if len({step.name for step in each.steps}) != len(each.steps)]


def test_every_scenario_says_what_it_is(contract: Contract) -> None:
    assert not [scenario.id for scenario in scenarios(contract, every(contract)) if not scenario.summary.strip()]


def test_a_subject_expects_of_its_step_what_it_says(contract: Contract) -> None:
    for scenario in scenarios(contract, every(contract)):
        if scenario.subject is None:
            continue
        (step,) = scenario.steps
        kept = {"accept": "answer", "reject": "refusal"}[scenario.subject.expect]
        expected = {"either"} if scenario.subject.keyword is Keyword.MAY else {kept, "either"}
        assert step.expect in expected, scenario.id
        assert scenario.subject.source.partition("#")[2], scenario.id


def test_a_stop_text_is_cut_from_an_earlier_step_that_is_answered(contract: Contract) -> None:
    for scenario in scenarios(contract, every(contract)):
        known: dict[str, Step] = {}
        for step in scenario.steps:
            if step.stop_from is not None:
                assert known[step.stop_from.step].expect == "answer"
                assert not scenario.together
            known[step.name] = step


def test_every_request_that_is_answered_is_short(contract: Contract) -> None:
    long = [
        f"{scenario.id}/{step.name}: {step.tokens}"
        for scenario, step in chats(scenarios(contract, every(contract)))
        if step.tokens > 288
        and step.expect == "answer"
        and not fnmatchcase(scenario.id, "max_*tokens-*")
        and step.stop_after_events is None  # its answer is left early
    ]
    assert not long


def test_every_bound_of_every_number_is_tried_on_both_sides(contract: Contract) -> None:
    rows = {each.subject.requirement for each in boundaries.generate(contract) if each.subject is not None}
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


def test_every_parameter_is_tried_with_null_and_with_another_type(contract: Contract) -> None:
    rows = {each.subject.requirement for each in boundaries.generate(contract) if each.subject is not None}
    for name, parameter in contract.parameters.items():
        assert any(row.startswith(f"parameters.{name}.null") for row in rows), name
        typed = parameter.schema.get("type") is not None
        assert not typed or any(row.startswith(f"parameters.{name}.type") for row in rows), name


def test_a_required_parameter_is_left_out_once(contract: Contract) -> None:
    found = {each.id: each for each in boundaries.generate(contract)}
    for name, parameter in contract.parameters.items():
        assert (f"{name}-missing-refused" in found) == parameter.required
        if parameter.required:
            (step,) = found[f"{name}-missing-refused"].steps
            assert name not in json.loads(step.payload("m"))


def test_the_limit_of_tokens_is_left_out_once_of_a_stream_that_is_left_early(contract: Contract) -> None:
    bare = [
        each
        for each in boundaries.generate(contract)
        for step in each.steps
        if step.expect == "answer" and "max_tokens" not in (step.body or {})
    ]
    (step,) = bare[0].steps
    assert [each.id for each in bare] == ["max_tokens-missing-accepted"]
    assert json.loads(step.payload("m")) == {"model": "m", "messages": boundaries.GREETING, "stream": True}
    assert step.stop_after_events == 2


def test_what_a_server_lacks_is_asked_for_by_name(contract: Contract) -> None:
    found = {
        scenario.id: scenario.subject.keyword
        for scenario in scenarios(contract, none(contract))
        if scenario.id.endswith("-lacking") and scenario.subject is not None
    }
    assert not [scenario.id for scenario in scenarios(contract, every(contract)) if scenario.id.endswith("-lacking")]
    assert {Keyword.SHOULD} >= set(found.values())
    unsaid = DeclaredCapabilities(frozenset(), frozenset(), "a test")
    assert {Keyword.MAY} >= {
        scenario.subject.keyword
        for scenario in scenarios(contract, unsaid)
        if scenario.id.endswith("-lacking") and scenario.subject is not None
    }


def test_the_numbers_around_a_bound_are_neighbours_in_single_precision() -> None:
    assert boundaries._neighbour(1.0, up=True) == 1.0000001192092896
    assert boundaries._neighbour(1.0, up=False) == 0.9999999403953552
    assert boundaries._neighbour(-2.0, up=False) == -2.000000238418579
    assert boundaries._neighbour(-2.0, up=True) == -1.9999998807907104
    assert boundaries._neighbour(0.0, up=True) == 2.0**-126
    assert boundaries._neighbour(0, up=False) == -(2.0**-126)


def test_a_body_is_completed_with_the_model_and_nothing_else() -> None:
    assert json.loads(Step(body={"a": 1}).payload("m")) == {"model": "m", "a": 1}
    assert json.loads(Step(body={"a": 1}).payload("m", stop="x")) == {"model": "m", "a": 1, "stop": "x"}
    assert json.loads(Step(body={"model": "other"}).payload("m")) == {"model": "other"}
    assert json.loads(Step(body={"model": None}).payload("m")) == {"model": None}
    assert json.loads(Step(body={"model": OMITTED}).payload("m")) == {}
    assert Step(raw=b"{").payload("m") == b"{"
    assert Step(method="GET").payload("m") == b""


def test_malformed_bodies_are_malformed_and_bodies_that_are_no_objects_are_json() -> None:
    found = written.read(load("mindie-2.3"))
    bodies = {each.id: each.steps[0].raw or b"" for each in found if each.steps[0].raw is not None}
    malformed = [body for name, body in bodies.items() if name.startswith("malformed-")]
    others = [body for name, body in bodies.items() if name.startswith("not-an-object-")]
    assert (len(malformed), len(others)) == (7, 4)
    for body in malformed:
        with pytest.raises(ValueError, match=r".*"):
            json.loads(body)
    assert not [body for body in others if isinstance(read_json(body.decode()).value, dict)]
    assert NOT_JSON not in [read_json(body.decode()).value for body in others]


def test_a_scenario_that_wants_what_the_contract_has_not_is_left_out() -> None:
    with_key = {each.id for each in written.read(load("siliconstorm"))}
    without = {each.id for each in written.read(load("mindie-2.3"))}
    assert {"key-missing", "key-missing-invalid", "key-missing-streamed", "key-wrong", "key-wrong-scheme"} <= with_key
    assert {"key"} == {name.partition("-")[0] for name in with_key - without}
    assert "usage-on-request" in {each.id for each in written.read(load("ovms-2024"))}
    assert "usage-on-request" not in without


def test_pruned_bodies_hold_only_what_the_contract_knows(contract: Contract) -> None:
    (found,) = [each for each in written.read(contract) if each.id == "sampled-mix"]
    assert not [step.name for step in found.steps if set(step.body or {}) - set(contract.parameters)]


STEP = {"ask": "Hello!", "body": {"max_tokens": 2}}
WRONG: dict[str, dict[str, Any]] = {
    "needs id and summary": {"summary": "x", "steps": [STEP]},
    "both texts": {"id": "x", "summary": None, "steps": [STEP]},
    "and steps": {"id": "x", "summary": "x", "steps": []},
    "does not know": {"id": "x", "summary": "x", "steps": [STEP], "expect": "answer"},
    "a step does not know": {"id": "x", "summary": "x", "steps": [{**STEP, "stream": True}]},
}


@pytest.mark.parametrize("complaint", WRONG)
def test_a_written_scenario_with_a_slip_is_named(complaint: str) -> None:
    with pytest.raises(HarnessError, match=complaint):
        written._scenario(WRONG[complaint], load("mindie-2.3"), "slips.yaml")


def test_a_written_scenario_becomes_what_it_says() -> None:
    row = yaml.safe_load("""
        id: x
        summary: all there is
        one_connection: true
        needs: {parameters: [n], capabilities: [tools]}
        steps:
          - {name: a, raw_hex: "ff00", headers: {X: y}, credentials: wrong, expect: refusal}
          - {name: b, ask: Hi, omit_model: true, stop_from: {step: a, length: 3}, stop_after_events: 2}
    """)
    assert written._scenario(row, load("mindie-2.3"), "x.yaml") == Scenario(
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
        ((Step("a", body={}), STOPPED), {"rounds": 2}, "its steps are of rounds"),
        ((Step("a", body={}), STOPPED), {"together": True}, "its steps are together"),
        ((STOPPED, Step("a", body={})), {}, "no step before it has that name"),
    ],
)
def test_a_stop_text_comes_from_an_answer_that_is_there(
    steps: tuple[Step, ...], others: dict[str, Any], why: str
) -> None:
    with pytest.raises(HarnessError, match=f"scenario s: step 'b' takes its stop text .* 'a', but {why}"):
        Scenario("s", "x", steps, **others)
    assert Scenario("s", "x", (Step("a", body={}), STOPPED)).steps[1] is STOPPED
