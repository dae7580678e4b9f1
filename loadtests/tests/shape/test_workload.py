"""Requests are valid for every dialect, follow the scenario, and depend only on seed and number."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest

from loadtests.errors import UsageError
from loadtests.shape.lengths import LengthDistribution, parse_length
from loadtests.shape.workload import Workload, WorkloadScenario, read_scenario
from openapi.contract.contract import load, names
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from pathlib import Path

DIALECTS = sorted(set(names().values()))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_request_is_valid_for_its_dialect(dialect: str) -> None:
    contract = load(dialect)
    scenario = WorkloadScenario(turns=LengthDistribution("uniform", (1, 3)), stream_share=0.5, prefix_share=0.5)
    workload = Workload(contract, scenario, contract.default_model, seed=3)
    validator = Validator(contract)
    bodies = [json.loads(workload.build_request(number).body) for number in range(40)]
    assert [()] * 40 == [validator.request_problems(body) for body in bodies]
    assert {True, False} == {body["stream"] for body in bodies}
    assert {"user", "assistant", "system"} == {message["role"] for body in bodies for message in body["messages"]}


def test_a_request_depends_only_on_seed_and_number() -> None:
    contract = load("mindie-2.3")
    one, other = (Workload(contract, WorkloadScenario(), "m", seed) for seed in (1, 2))
    assert one.build_request(5) == Workload(contract, WorkloadScenario(), "m", 1).build_request(5)
    assert len({request.body for request in (one.build_request(5), one.build_request(6), other.build_request(5))}) == 3


def test_the_request_contains_its_tools_and_their_choice() -> None:
    contract = load("mindie-2.3")
    for share, choice, expected in ((1.0, "required", True), (1.0, "auto", False), (0.0, "required", False)):
        request = Workload(contract, WorkloadScenario(tool_share=share, tool_choice=choice), "m", 1).build_request(0)
        body = json.loads(request.body)
        assert (("get_weather",) if share else (), expected) == (request.tools, request.must_call)
        assert expected == (body.get("tool_choice") == "required")


def test_every_prompt_has_a_unique_word() -> None:
    workload = Workload(load("mindie-2.3"), WorkloadScenario(), "m", 1)
    requests = [workload.build_request(number) for number in range(100)]
    assert len({request.canary for request in requests}) == 100
    assert all(request.canary.encode() in request.body for request in requests)


@pytest.mark.parametrize("field", [("temperature", -1), ("tools", [1])])
def test_a_scenario_that_violates_the_contract_is_rejected(field: tuple[str, object]) -> None:
    with pytest.raises(UsageError, match=field[0]):
        Workload(load("mindie-2.3"), WorkloadScenario(body=dict([field])), "m", 1)


def test_a_scenario_file_sets_the_properties_of_requests(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text("prompt_words: {uniform: [5, 9]}\nmax_tokens: 7\nstream_share: 0.5\nbody: {temperature: 0.5}\n")
    expected = WorkloadScenario(
        prompt_words=LengthDistribution("uniform", (5, 9)),
        max_tokens=LengthDistribution("choice", (7,)),
        stream_share=0.5,
        body={"temperature": 0.5},
    )
    assert expected == read_scenario(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "expected `name: value` lines"),
        ("speed: 1", "unknown field 'speed'"),
        ("stream_share: 2", "stream_share"),
        ("prompt_words: 0", "prompt_words"),
        ("prompt_words: {uniform: [9, 5]}", "prompt_words"),
        ("prompt_words: {triangle: [1, 2]}", "lognormal"),
        ("prefixes: true", "prefixes"),
        ("tool_choice: sometimes", "required"),
        ("body: 3", "body"),
        ("body: {temperature: .nan}", "JSON"),
        ("body: {user: 2026-01-01}", "JSON"),
        ("body: &a {x: *a}", "JSON"),
        ("turns: 2\nturns: 3", "duplicate key 'turns'"),
        ("max_tokens: 1.5", "whole number"),
        ("max_tokens: 99999999", "whole number"),
        ("tool_choice: required", "tool_share"),
        ("prefixes: 3", "prefix_share"),
        ("a: [", "scenario.yaml"),
    ],
)
def test_an_invalid_scenario_file_is_rejected_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message) as caught:
        read_scenario(path)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("value", "mean", "spread"),
    [(40, 40, 0), ({"uniform": [10, 30]}, 20, 6), ({"normal": [50, 5]}, 50, 5), ({"lognormal": [20, 0.5]}, 22.7, 12)],
)
def test_lengths_have_the_stated_distribution(value: object, mean: float, spread: float) -> None:
    rng, drawn = Random(1), parse_length(value, "here")
    values = [drawn.draw(rng) for _ in range(5000)]
    average = sum(values) / len(values)
    assert abs(average - mean) < 1
    assert abs((sum((value - average) ** 2 for value in values) / len(values)) ** 0.5 - spread) < 1
