"""Perturbations: each changes its fact, and variants remain consistent contracts."""

from __future__ import annotations

from random import Random

import pytest

from openapi.contract.contract import ABSENT, ContractError, load, names
from openapi.description.validation import Validator
from openapi.perturbation.drawing import MOST, draw_variant, list_perturbations
from openapi.perturbation.edit import Edit
from openapi.perturbation.perturbation import Perturbation, Variant, from_text

DIALECTS = sorted(set(names().values()))
BODY = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}]}


def find(dialect: str, fact: str, *, after: object = None) -> Perturbation:
    """The first perturbation of a fact, with this value if one is given."""
    found = list_perturbations(load(dialect), Random(0))
    return next(item for item in found if item.fact == fact and after in (None, item.after))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_seed_draws_the_same_variant(dialect: str) -> None:
    first, second = (draw_variant(dialect, 7) for _ in range(2))
    assert first.to_text() == second.to_text()
    assert 1 <= len(first.perturbations) <= MOST


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_name_of_a_variant_says_all_that_a_server_needs(dialect: str) -> None:
    variant = draw_variant(dialect, 3)
    named = from_text(variant.to_text())
    assert (repr(named.build()), named.lacking) == (repr(variant.build()), variant.lacking)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_value_that_a_variant_states_agrees_with_its_schemas(dialect: str) -> None:
    for seed in range(3):
        contract = draw_variant(dialect, seed).build()
        validator = Validator(contract)
        required = {name: item.default for name, item in contract.parameters.items() if item.default is not ABSENT}
        required = {name: value for name, value in required.items() if contract.parameters[name].required}
        for name, parameter in contract.parameters.items():
            if parameter.default not in (ABSENT, None):
                problems = validator.request_problems({**BODY, **required, name: parameter.default})
                assert name not in {problem.parameter for problem in problems}, (seed, name)
        for rule in contract.rules.values():
            assert rule.kept is None or not validator.request_problems({**BODY, **required, **rule.kept})


def test_a_variant_without_perturbations_is_the_dialect() -> None:
    assert Variant("ovms-2024").build() is load("ovms-2024")


def test_a_tighter_bound_refuses_what_was_accepted() -> None:
    fact = "parameters/temperature/schema/maximum"
    tighter = Perturbation(fact, 2.0, 1.5, "", (Edit(fact, 1.5),))
    body = {**BODY, "temperature": 1.8}
    assert not Validator(load("mindie-2.3")).request_problems(body)
    assert Validator(Variant("mindie-2.3", (tighter,)).build()).request_problems(body)


def test_examples_beyond_a_new_bound_are_left_out() -> None:
    fact = "parameters/top_k/schema/maximum"
    tighter = Perturbation(fact, None, 100, "", (Edit(fact, 100),))
    probes = Variant("ovms-2024", (tighter,)).build().parameters["top_k"].probes
    assert all(probe.value <= 100 for probe in probes if probe.expect == "accept")


def test_a_removed_parameter_takes_its_requirements_and_rules_with_it() -> None:
    contract = Variant("mindie-2.3", (find("mindie-2.3", "parameters/seed"),)).build()
    assert "seed" not in contract.parameters
    assert not [row.id for row in contract.requirements.values() if row.source.endswith("#request/seed")]


def test_a_default_out_of_range_is_refused_in_one_line() -> None:
    fact = "parameters/temperature/schema/maximum"
    with pytest.raises(ContractError, match=r"parameters/temperature/default: 1\.0 is not a value") as error:
        Variant("ovms-2024", (Perturbation(fact, 2.0, 0.5, "", (Edit(fact, 0.5),)),)).build()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "no-variant", "eJw", "////"])
def test_an_invalid_name_of_a_variant_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ContractError, match="invalid name of a variant"):
        from_text(text)


def test_an_edit_of_an_unknown_place_is_refused() -> None:
    with pytest.raises(ContractError, match="cannot edit parameters/none/schema: 'none' does not exist"):
        Edit("parameters/none/schema", 1).apply({"parameters": {}})


def test_a_requirement_about_a_parameter_that_the_contract_lacks_is_refused_in_one_line() -> None:
    gone = Perturbation("parameters/seed", "a parameter", None, "", (Edit("parameters/seed"),))
    with pytest.raises(ContractError, match=r"requirements/\S+: the contract has no parameter seed") as error:
        Variant("mindie-2.3", (gone,)).build()
    assert "\n" not in str(error.value)


def test_an_accepted_null_that_a_rule_refuses_is_refused_in_one_line() -> None:
    with pytest.raises(ContractError, match="parameters/n/null_value: null is accepted, but a rule refuses it"):
        Variant("ovms-2024", (find("ovms-2024", "parameters/n/null_value"),)).build()
