"""Generate greedy requests with the least and greatest values of parameters that only concern sampling.

At temperature 0 the likeliest token is chosen, whatever share of the others is left out. So a value at the end of a
range, which a careless server computes with wrongly, has no effect that a client can miss. The same holds for
temperatures just above 0, at which a token is drawn, so that the seed is used.
"""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.boundary_values import list_small_values, list_valid_ends
from conformance.plan.scenarios.fitting import complete_body, neutral_values
from conformance.scenario import Scenario, Step
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract

SCENARIO: Final = "greedy-at-the-bounds"
SUMMARY: Final = "greedy responses with values at the ends of ranges"
GREEDY: Final = {"messages": [{"role": "user", "content": "Anna"}], "max_tokens": 8, "temperature": 0}
"""A name alone is a prompt that leaves even a certain model many ways to begin."""
TOLD: Final = {"logprobs": True, "top_logprobs": 3}
"""Shows whether a difference may be one of rounding."""
WITHOUT_EFFECT: Final = ("top_p", "top_k", "min_p")


def generate(contract: Contract) -> tuple[Scenario, ...]:
    """Return the scenario; empty if the contract allows no greedy request, or has no such parameter."""
    validator = Validator(contract)

    def is_allowed(body: dict[str, Any]) -> bool:
        return not validator.request_problems(complete_body({"model": "m", **body}, contract))

    told = TOLD if all(_supports(contract, name) for name in TOLD) else {}
    greedy = {**GREEDY, **neutral_values(contract)}
    base = next((body for body in ({**greedy, **told}, greedy) if is_allowed(body)), None)
    if base is None or not _supports(contract, "temperature"):
        return ()
    steps = [
        Step("-".join(f"{name}-{json.dumps(value)}" for name, value in values.items()), body=body, expect="either")
        for values in _list_values(contract)
        if is_allowed(body := {**base, **values})
    ]
    return (Scenario(SCENARIO, SUMMARY, (Step("base", body=base), *steps)),) if steps else ()


def list_unfit(contract: Contract) -> Iterator[tuple[Scenario, str]]:
    """Yield the scenario if the contract does not allow it, with the reason."""
    if not generate(contract):
        written = Scenario(SCENARIO, SUMMARY, (Step("base", body=GREEDY),))
        yield written, f"scenario {SCENARIO}, step base: the contract allows no greedy request, or no such parameter"


def _supports(contract: Contract, name: str) -> bool:
    parameter = contract.parameters.get(name)
    return parameter is not None and not parameter.lacking


def _list_values(contract: Contract) -> Iterator[dict[str, Any]]:
    """Yield the values that replace those of the base: no defaults, which do not replace anything.

    A seed goes with a temperature just above 0, if the contract allows such a temperature.
    """
    for name in WITHOUT_EFFECT:
        if _supports(contract, name):
            ends = list_valid_ends(contract.parameters[name].schema)
            yield from ({name: value} for value in ends if value != contract.parameters[name].default)
    temperatures = [{"temperature": value} for value in list_small_values(contract.parameters["temperature"].schema)]
    ends = list_valid_ends(contract.parameters["seed"].schema) if _supports(contract, "seed") else []
    for temperature, seed in zip_longest(temperatures, ends):
        yield {**(temperature or {}), **({} if seed is None else {"seed": seed})}
