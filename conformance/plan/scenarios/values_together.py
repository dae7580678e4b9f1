"""Generate a few requests that together send every simple value that must be accepted, one of each parameter in turn.

A server that refuses one of the values, or fails at it, does so in a request with others as well. Then, and only then,
each of them is sent alone, which shows which one it is. Values that decide the form or the length of an answer are not
sent together. Every second request asks for a stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.fitting import complete_body
from conformance.scenario import Scenario, Step, Subject
from openapi.contract.contract import Keyword
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openapi.contract.contract import Contract

    Body = dict[str, Any]

DECIDING: Final = frozenset(
    (
        *("model", "messages", "stream", "n", "best_of", "use_beam_search", "echo"),
        *("max_tokens", "max_completion_tokens", "min_tokens"),
    )
)
"""Parameters that decide the form or the length of an answer."""
STREAMED: Final = {"stream": True}
SIMPLE: Final = (type(None), bool, int, float, str)
SCENARIO: Final = "values-together"
FEWEST: Final = 5
"""Values of a request. A few others are only sent alone."""
MOST: Final = 12
"""Values of a request, so that few must be sent again if it is refused."""
SUMMARY: Final = "valid values of several parameters are accepted together"


@dataclass(slots=True)
class _Pack:
    """One request: its body, and the scenarios whose values it sends."""

    body: Body = field(default_factory=dict)
    scenarios: list[Scenario] = field(default_factory=list)


def generate(alone: Iterable[Scenario], contract: Contract) -> tuple[Scenario, ...]:
    """Return one scenario for each request. `alone`: the scenarios that send one value each."""
    waiting: dict[str, list[Scenario]] = {}
    for scenario in alone:
        if (subject := scenario.subject) is not None and _is_shareable(subject):
            waiting.setdefault(subject.parameter, []).append(scenario)
    packs = [pack for pack in _pack(waiting, contract) if len(pack.scenarios) >= FEWEST]
    return tuple(_scenario(contract, number, pack) for number, pack in enumerate(packs, 1))


def replace_shared(alone: Iterable[Scenario], together: Sequence[Scenario]) -> Iterator[Scenario]:
    """Yield the scenarios; those whose values are sent together are sent alone only if the others are refused."""
    shared = {(item.requirement, repr(item.value)): pack.id for pack in together for item in pack.also}
    for scenario in alone:
        subject = scenario.subject
        key = None if subject is None else shared.get((subject.requirement, repr(subject.value)))
        yield scenario if key is None else replace(scenario, unless_answered=key)


def _is_shareable(subject: Subject) -> bool:
    accepted = subject.expect == "accept" and subject.keyword is Keyword.MUST
    return accepted and type(subject.value) in SIMPLE and subject.parameter not in DECIDING


def _scenario(contract: Contract, number: int, pack: _Pack) -> Scenario:
    subjects = tuple(scenario.subject for scenario in pack.scenarios if scenario.subject is not None)
    stream = contract.parameters.get("stream")
    may_stream = stream is not None and not stream.lacking
    streams = number % 2 == 0 and may_stream and _is_valid(pack.body, STREAMED, (Validator(contract),))
    body = pack.body | STREAMED if streams else pack.body
    subject = Subject(
        requirement=f"parameters.together.values-{number}",
        check="parameters.valid-accepted",
        parameter="together",
        keyword=Keyword.MUST,
        source=f"{contract.document.id}#request",
        summary=SUMMARY,
        value={item.parameter: item.value for item in subjects},
        expect="accept",
    )
    return Scenario(f"{SCENARIO}-{number}", SUMMARY, (Step(body=body),), subject=subject, also=subjects)


def _pack(waiting: dict[str, list[Scenario]], contract: Contract) -> Iterator[_Pack]:
    """Yield requests with one value of each parameter, as far as they are valid together, until all are sent."""
    validators = Validator(contract), Validator(contract.with_server_limits())
    while any(waiting.values()):
        pack = _Pack()
        for scenarios in sorted(waiting.values(), key=len, reverse=True):
            for scenario in scenarios if len(pack.scenarios) < MOST else ():
                body = dict(scenario.steps[0].body or {})
                if _is_valid(pack.body, body, validators):
                    scenarios.remove(scenario)
                    pack.body |= body
                    pack.scenarios.append(scenario)
                    break
        if not pack.scenarios:
            return
        yield pack


def _is_valid(packed: Body, body: Body, validators: tuple[Validator, ...]) -> bool:
    """Return whether two bodies agree in the fields that both have, and every server must accept them together."""
    if any(packed[name] != body[name] for name in packed.keys() & body.keys()):
        return False
    contract = validators[0].contract
    complete = complete_body({"model": "m", **packed, **body}, contract)
    in_words = [rule.broken for rule in contract.rules.values() if rule.broken and rule.schema is None]
    if any(_resembles(complete, broken) for broken in in_words):
        return False
    return not any(validator.request_problems(complete) for validator in validators)


def _resembles(body: Body, example: Mapping[str, Any]) -> bool:
    """Return whether a body has the fields of an example: numbers and lists may have other values."""
    return all(
        body.get(name) == value if isinstance(value, bool | str) else body.get(name) is not None
        for name, value in example.items()
    )
