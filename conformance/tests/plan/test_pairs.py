"""Every two parameters that a contract allows together meet in some request, in both forms."""

from __future__ import annotations

from itertools import combinations

import pytest

from conformance.plan.scenarios.combinations import pairs
from conformance.plan.scenarios.fitting import complete_body
from openapi.contract.contract import load, names
from openapi.description.validation import Validator

DIALECTS = sorted(set(names().values()))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_two_parameters_meet(dialect: str) -> None:
    contract = load(dialect)
    validator = Validator(contract)
    sent = [scenario.steps[0].body or {} for scenario in pairs.generate(contract)]

    def says(body: object, values: dict[str, object]) -> bool:
        return isinstance(body, dict) and all(body.get(name) == value for name, value in values.items())

    known = {
        name: {key: value for key, value in values.items() if key in contract.parameters}
        for name, values in pairs.VALUES.items()
        if name in contract.parameters and not contract.parameters[name].lacking
    }
    absent = []
    for one, other in combinations(known, 2):
        first, second = known[one], known[other]
        if any(first[key] != second[key] for key in first.keys() & second.keys()):
            continue
        if pairs.LIMITS <= first.keys() | second.keys():
            continue
        both = {"model": "m", "messages": [pairs.QUESTION], **first, **second}
        allowed = not validator.request_problems(complete_body(both, contract))
        if allowed and not any(says(body, first | second) for body in sent):
            absent.append((one, other))
    assert [] == absent


@pytest.mark.parametrize("dialect", DIALECTS)
def test_both_forms_say_the_same(dialect: str) -> None:
    for scenario in pairs.generate(load(dialect)):
        plain, streamed = (dict(step.body or {}) for step in scenario.steps)
        assert True is streamed.pop("stream")
        streamed.pop("stream_options", None)
        assert plain == streamed
