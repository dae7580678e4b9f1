"""A generated value is sent with the parameters that it needs, and with no others."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.plan.scenarios import boundaries
from openapi.contract.contract import load


def companions_of(dialect: str, parameter: str) -> dict[str, dict[str, Any]]:
    """Return what is sent together with each value of a parameter, by the value as text.

    `stream` is left out: every second invalid value is sent with it.
    """
    always = {"messages", "max_tokens", "stream", parameter}
    return {
        repr(scenario.subject.value): {
            name: value for name, value in (scenario.steps[0].body or {}).items() if name not in always
        }
        for scenario in boundaries.generate(load(dialect))
        if scenario.subject is not None and scenario.subject.check.startswith(("parameters.valid", "parameters.inv"))
        if scenario.subject.parameter == parameter
    }


@pytest.mark.parametrize(
    ("dialect", "parameter", "value", "companions"),
    [
        ("ovms-2024", "n", "1", {}),
        ("ovms-2024", "n", "0", {}),
        ("ovms-2024", "n", "1.5", {}),
        ("ovms-2024", "n", "2", {"best_of": 2}),
        ("mindie-2.3", "n", "1", {}),
        ("mindie-2.3", "n", "0", {}),
        ("mindie-2.3", "n", "128", {"temperature": 0.7}),
        ("mindie-2.3", "n", "129", {"temperature": 0.7}),
        ("mindie-2.3", "top_logprobs", "21", {}),
        ("openai", "top_logprobs", "21", {"logprobs": True}),
    ],
)
def test_a_value_is_sent_with_what_it_needs(
    dialect: str, parameter: str, value: str, companions: dict[str, Any]
) -> None:
    assert companions_of(dialect, parameter)[value] == companions


@pytest.mark.parametrize("dialect", ["mindie-2.3", "openai"])
def test_invalid_values_are_sent_in_both_forms_and_valid_ones_plain(dialect: str) -> None:
    forms: dict[str, set[bool]] = {"accept": set(), "reject": set()}
    for scenario in boundaries.generate(load(dialect)):
        subject = scenario.subject
        if subject is not None and subject.value is not None and subject.parameter in ("temperature", "top_p", "seed"):
            forms[subject.expect].add(scenario.steps[0].streams)
    assert {"accept": {False}, "reject": {False, True}} == forms
