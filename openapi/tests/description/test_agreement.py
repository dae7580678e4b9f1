"""Independent validators, and a case generator, agree on which requests are valid."""

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
COUNT = 300
MIN_POSITIVE = 110


@cache
def corpus(dialect: str) -> tuple[list[Any], list[Any]]:
    return agreed_bodies(load(dialect), COUNT)


@cache
def cases(dialect: str) -> list[schemathesis.Case]:
    return coverage_cases(load(dialect), describe(load(dialect)))


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", DIALECTS)
def test_validators_agree_on_valid_and_invalid_bodies(dialect: str) -> None:
    valid, invalid = corpus(dialect)
    assert (len(valid), len(invalid)) == (COUNT, COUNT)
    for accepts in (openapi_core(load(dialect)), server(load(dialect))):
        assert [body for body in valid if not accepts(body)] == []
        assert [body for body in invalid if accepts(body)] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_bodies_cover_every_parameter_and_violate_many_keywords(dialect: str) -> None:
    """Agreement on bodies that resemble one another would prove little."""
    valid, invalid = corpus(dialect)
    assert {name for body in valid for name in body} >= set(load(dialect).parameters)
    validator = Validator(load(dialect))
    violated = Counter(problem.keyword for body in invalid for problem in validator.request_problems(body))
    assert {"type", "required"} <= set(violated)
    assert len(violated) >= 7


def test_the_same_seed_gives_the_same_bodies() -> None:
    contract = load("mindie")
    first, again, other = (list(islice(bodies(contract, seed), 20)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", DIALECTS)
def test_schemathesis_generates_the_same_cases_from_both_versions(dialect: str) -> None:
    old = coverage_cases(load(dialect), describe_oas31(load(dialect)))
    assert [case.body for case in cases(dialect)] == [case.body for case in old]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_schemathesis_generates_many_positive_cases_all_of_them_valid(dialect: str) -> None:
    """Rules are written so that the generator follows them: no positive case violates one."""
    positive = positive_bodies(cases(dialect))
    assert len(positive) >= MIN_POSITIVE
    for accepts in (python_jsonschema(load(dialect)), server(load(dialect))):
        assert [body for body in positive if not accepts(body)] == []


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", DIALECTS)
def test_schemathesis_can_draw_valid_bodies_at_random(dialect: str) -> None:
    """Rules are written so that the generator does not fail on them."""
    accepts = server(load(dialect))
    drawn = drawn_bodies(load(dialect), 5)
    assert drawn
    assert [body for body in drawn if not accepts(body)] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_positive_cases_cover_every_parameter_and_both_kinds_of_answer(dialect: str) -> None:
    positive = positive_bodies(cases(dialect))
    assert {name for body in positive for name in body} >= set(load(dialect).parameters)
    streamed = sum(1 for body in positive if body.get("stream") is True)
    assert 40 <= streamed <= len(positive) - 40
