"""Validators agree on which requests are valid, and a generator of cases agrees with them."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from openapi.contract.contract import load, names
from openapi.description.description import describe, describe_oas31
from openapi.description.validation import Validator
from openapi.tests.contract.generated_bodies import bodies
from openapi.tests.contract.validators import (
    agreed_bodies,
    coverage_cases,
    drawn_bodies,
    openapi_core,
    positive_bodies,
    python_jsonschema,
    server,
)

if TYPE_CHECKING:
    import schemathesis

DIALECTS = sorted(set(names().values()))
COUNT = 500
FEWEST_POSITIVE = 110


@cache
def corpus(dialect: str) -> tuple[list[Any], list[Any]]:
    return agreed_bodies(load(dialect), COUNT)


@cache
def cases(dialect: str) -> list[schemathesis.Case]:
    return coverage_cases(load(dialect), describe(load(dialect)))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_validators_agree_on_500_valid_and_500_invalid_bodies(dialect: str) -> None:
    valid, invalid = corpus(dialect)
    assert (len(valid), len(invalid)) == (COUNT, COUNT)
    for accepts in (openapi_core(load(dialect)), server(load(dialect))):
        assert [body for body in valid if not accepts(body)] == []
        assert [body for body in invalid if accepts(body)] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_bodies_reach_every_parameter_and_break_many_keywords(dialect: str) -> None:
    """Agreement over bodies that are all alike would say little."""
    valid, invalid = corpus(dialect)
    assert {name for body in valid for name in body} >= set(load(dialect).parameters)
    validator = Validator(load(dialect))
    broken = Counter(problem.keyword for body in invalid for problem in validator.request_problems(body))
    assert {"type", "required"} <= set(broken)
    assert len(broken) >= 7


def test_the_same_seed_gives_the_same_bodies() -> None:
    contract = load("mindie")
    first, again, other = (list(islice(bodies(contract, seed), 20)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("dialect", DIALECTS)
def test_schemathesis_makes_the_same_cases_of_both_versions(dialect: str) -> None:
    old = coverage_cases(load(dialect), describe_oas31(load(dialect)))
    assert [case.body for case in cases(dialect)] == [case.body for case in old]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_positive_cases_of_schemathesis_are_many_and_valid(dialect: str) -> None:
    """Rules across parameters are written so that the generator keeps them: no valid case breaks one."""
    made = positive_bodies(cases(dialect))
    assert len(made) >= FEWEST_POSITIVE
    for accepts in (python_jsonschema(load(dialect)), server(load(dialect))):
        assert [body for body in made if not accepts(body)] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_schemathesis_can_draw_valid_bodies_by_chance(dialect: str) -> None:
    """Rules across parameters are written so that its generator does not give them up."""
    accepts = server(load(dialect))
    drawn = drawn_bodies(load(dialect), 5)
    assert drawn
    assert [body for body in drawn if not accepts(body)] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_positive_cases_reach_every_parameter_plain_and_streamed(dialect: str) -> None:
    made = positive_bodies(cases(dialect))
    assert {name for body in made for name in body} >= set(load(dialect).parameters)
    streamed = sum(1 for body in made if body.get("stream") is True)
    assert 40 <= streamed <= len(made) - 40
