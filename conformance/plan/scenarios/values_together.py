"""Generate a few requests that together send every number that sampling parameters must accept, one of each in turn.

A usual run cannot send each valid value alone. A server that refuses one of them, or fails at it, does so in a request
with others as well; the requests with a single value then show which one it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.boundaries import generate as generate_alone
from conformance.plan.scenarios.fitting import complete_body
from conformance.scenario import Scenario, Step, Subject
from openapi.contract.contract import Keyword
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract

    Body = dict[str, Any]

SAMPLING: Final = (
    *("temperature", "top_p", "top_k", "min_p", "seed"),
    *("presence_penalty", "frequency_penalty", "repetition_penalty"),
    *("top_logprobs", "prompt_logprobs"),
)
SCENARIO: Final = "values-together"
FEWEST: Final = 5
"""Values of a request. A few others are only sent alone."""
SUMMARY: Final = "valid values of several parameters are accepted together"


def generate(contract: Contract) -> tuple[Scenario, ...]:
    """Return one scenario for each request."""
    bodies = enumerate(_pack(_list_bodies(contract), contract), 1)
    return tuple(
        _scenario(contract, number, body, values) for number, (body, values) in bodies if len(values) >= FEWEST
    )


def _scenario(contract: Contract, number: int, body: Body, values: dict[str, Any]) -> Scenario:
    subject = Subject(
        requirement=f"parameters.together.values-{number}",
        check="parameters.valid-accepted",
        parameter="together",
        keyword=Keyword.MUST,
        source=f"{contract.document.id}#request",
        summary=SUMMARY,
        value=values,
        expect="accept",
    )
    return Scenario(f"{SCENARIO}-{number}", SUMMARY, (Step(body=body),), subject=subject)


def _list_bodies(contract: Contract) -> dict[str, list[Body]]:
    """Return the requests that send one number that must be accepted, by its parameter."""
    bodies: dict[str, list[Body]] = {}
    for scenario in generate_alone(contract):
        subject = scenario.subject
        if subject is None or subject.expect != "accept" or subject.keyword is not Keyword.MUST:
            continue
        if type(subject.value) in (int, float) and subject.parameter in SAMPLING:
            bodies.setdefault(subject.parameter, []).append(dict(scenario.steps[0].body or {}))
    return bodies


def _pack(bodies: dict[str, list[Body]], contract: Contract) -> Iterator[tuple[Body, dict[str, Any]]]:
    """Yield requests with one value of each parameter, as far as they are valid together, until all are sent."""
    validators = Validator(contract), Validator(contract.with_server_limits())
    while any(bodies.values()):
        packed: Body = {}
        values: dict[str, Any] = {}
        for name, waiting in bodies.items():
            body = next((body for body in waiting if _is_valid(packed, body, validators)), None)
            if body is not None:
                waiting.remove(body)
                packed |= body
                values[name] = body[name]
        if not values:
            return
        yield packed, values


def _is_valid(packed: Body, body: Body, validators: tuple[Validator, ...]) -> bool:
    """Return whether two bodies agree in the fields that both have, and are valid together."""
    if any(packed[name] != body[name] for name in packed.keys() & body.keys()):
        return False
    complete = complete_body({"model": "m", **packed, **body}, validators[0].contract)
    return not any(validator.request_problems(complete) for validator in validators)
