"""The parameters that are sent together with a probe are valid themselves, needed, and as small as possible."""

from __future__ import annotations

from typing import Any

import pytest

from openapi.contract.contract import Keyword, Parameter, load, names
from openapi.description.validation import Validator

DIALECTS = tuple(sorted(set(names().values())))
BASE: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 2}
IN_USE = {  # a value with which a parameter that needs others is in use, if it has no probe that is accepted
    "top_logprobs": 1,
    "function_call": {"name": "get_weather"},
    "parallel_tool_calls": True,
    "max_completion_tokens": 2,
    "continue_final_message": True,
}


WITHOUT_EFFECT = {  # companions that no rule demands: why the value says nothing without them
    ("function_call", "functions"): "nothing can be called",
    ("tool_choice", "tools"): "nothing can be called",
    ("max_completion_tokens", "max_tokens"): "two limits at once are left open",
    ("parallel_tool_calls", "tools"): "nothing can be called",
    ("metadata", "store"): "metadata belong to a stored response",
    ("continue_final_message", "add_generation_prompt"): "they exclude each other, which the description omits",
    ("best_of", "temperature"): "whether the default temperature is enough is left open",
    ("n", "temperature"): "whether the default temperature is enough is left open",
}


def with_companions() -> list[Any]:
    return [
        pytest.param(dialect, parameter.name, id=f"{dialect}-{parameter.name}")
        for dialect in DIALECTS
        for parameter in load(dialect).parameters.values()
        if parameter.needs
    ]


def value_in_use(parameter: Parameter) -> Any:
    """Return a value that must be accepted and that is neither neutral nor the default."""
    probes = [probe for probe in parameter.probes if probe.expect == "accept" and probe.value not in parameter.neutral]
    probes.sort(key=lambda probe: probe.keyword is Keyword.MAY)
    idle = (*parameter.neutral, parameter.default)
    return next((probe.value for probe in probes if probe.value not in idle), IN_USE.get(parameter.name, 2))


@pytest.mark.parametrize(("dialect", "name"), with_companions())
def test_companions_are_valid_on_their_own(dialect: str, name: str) -> None:
    contract = load(dialect)
    companions = contract.parameters[name].companions(value_in_use(contract.parameters[name]))
    assert companions
    assert Validator(contract).request_problems({**BASE, **companions}) == ()
    for other, value in companions.items():  # and no server may refuse one of them
        probes = (*contract.parameters[other].probes, contract.parameters[other].null)
        assert not [probe for probe in probes if probe.value == value and probe.expect == "reject"]


@pytest.mark.parametrize(("dialect", "name"), with_companions())
def test_a_value_needs_each_of_its_companions(dialect: str, name: str) -> None:
    contract = load(dialect)
    parameter, validator = contract.parameters[name], Validator(contract.with_server_limits())
    value = value_in_use(parameter)
    companions = parameter.companions(value)
    assert validator.request_problems({**BASE, **companions, name: value}) == ()
    for other, companion in companions.items():
        without = {key: item for key, item in companions.items() if key != other}
        refused = validator.request_problems({**BASE, **without, name: value})
        assert refused or (name, other) in WITHOUT_EFFECT, f"{other} is not needed"
        if type(companion) is int and refused:
            smaller = {**BASE, **companions, other: companion - 1, name: value}
            assert validator.request_problems(smaller), f"{other} {companion - 1} would be enough"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_value_that_needs_no_companion_has_none(dialect: str) -> None:
    for parameter in load(dialect).parameters.values():
        if parameter.needs_for is not None:
            assert parameter.companions(parameter.default) == {}
            others: tuple[Any, ...] = ("1", 1.5, True, [], None)
            assert [parameter.companions(value) for value in others] == [{}] * len(others)
