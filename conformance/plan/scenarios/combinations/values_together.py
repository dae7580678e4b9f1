"""Generate a few requests that together send every simple value to be accepted, one of each parameter in turn.

A server that refuses one of the values, or fails at it, does so in a request with others as well. Then, and only then,
each of them is sent alone, which shows which one it is. Values that decide the form or the length of an answer are not
sent together. Every second request asks for a stream, and so does one with all nulls, because a server may read plain
requests and those for streams in different places.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.combinations.allowed_bodies import find_allowed_bodies
from conformance.scenario import Scenario, Step, Subject
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from conformance.plan.scenarios.combinations.allowed_bodies import AllowedBodies
    from openapi.contract.contract import Contract

    Body = dict[str, Any]

ALONE: Final = frozenset(("model", "messages", "stream"))
DECIDING: Final = frozenset(
    ("n", "best_of", "use_beam_search", "echo", "max_tokens", "max_completion_tokens", "min_tokens")
)
"""Parameters that decide the form or the length of an answer: their values are sent alone, and null with the others."""
STREAMED: Final = {"stream": True}
SIMPLE: Final = (type(None), bool, int, float, str)
SCENARIO: Final = "values-together"
NULLS: Final = f"{SCENARIO}-nulls"
FEWEST: Final = 5
"""Values of a request. A few others are only sent alone."""
MOST: Final = 16
"""Values of a request, so that few must be sent again if it is refused."""
SUMMARY: Final = "valid values of several parameters are accepted together"


@dataclass(slots=True)
class _Pack:
    """One request: its body, and the scenarios whose values it sends."""

    body: Body = field(default_factory=dict)
    scenarios: list[Scenario] = field(default_factory=list)

    def add(self, scenario: Scenario, allowed: AllowedBodies) -> bool:
        """Add a value if every server must accept it together with the others; return whether it was added."""
        body = dict(scenario.steps[0].body or {})
        fits = _fit_together(self.body, body, allowed)
        if fits:
            self.body |= body
            self.scenarios.append(scenario)
        return fits


def generate(alone: Iterable[Scenario], contract: Contract) -> tuple[Scenario, ...]:
    """Return one scenario for each request. `alone`: the scenarios that send one value each.

    Values that must be accepted are not sent with those that should be, since a server may refuse one of these.
    """
    listed = tuple(alone)
    packs = []
    for keyword in (Keyword.MUST, Keyword.SHOULD):
        waiting: dict[str, list[Scenario]] = {}
        for scenario in _list_accepted(listed, keyword):
            if _subject_of(scenario).parameter not in DECIDING:
                waiting.setdefault(_subject_of(scenario).parameter, []).append(scenario)
        packs += [(keyword, pack) for pack in _pack(waiting, contract) if len(pack.scenarios) >= FEWEST]
    together = [
        _scenario(contract, f"{number}", pack, keyword, streams=number % 2 == 0)
        for number, (keyword, pack) in enumerate(packs, 1)
    ]
    nulls = _Pack()
    for scenario in _list_accepted(listed, Keyword.MUST):
        if _subject_of(scenario).value is None:
            nulls.add(scenario, find_allowed_bodies(contract))
    if len(nulls.scenarios) >= FEWEST:
        together.append(_scenario(contract, "nulls", nulls, Keyword.MUST, streams=True))
    return tuple(together)


def _list_accepted(alone: Iterable[Scenario], keyword: Keyword) -> Iterator[Scenario]:
    """Yield the scenarios with a simple value for whose acceptance this is the requirement level."""
    for scenario in alone:
        subject = scenario.subject
        if subject is not None and subject.keyword is keyword and _is_accepted(subject):
            yield scenario


def replace_shared(alone: Iterable[Scenario], together: Sequence[Scenario]) -> Iterator[Scenario]:
    """Yield the scenarios; those whose values are sent together are sent alone only if the others are refused."""
    packs = [pack for pack in together if pack.id != NULLS]  # which shows only that they are accepted in streams too
    shared = {(item.requirement, repr(item.value)): pack.id for pack in packs for item in pack.also}
    for scenario in alone:
        subject = scenario.subject
        key = None if subject is None else shared.get((subject.requirement, repr(subject.value)))
        yield scenario if key is None else replace(scenario, unless_answered=key)


def _subject_of(scenario: Scenario) -> Subject:
    if scenario.subject is None:
        raise ValueError(f"scenario {scenario.id} has no subject")
    return scenario.subject


def _is_accepted(subject: Subject) -> bool:
    """Return whether a server accepts the value, and it is simple."""
    return subject.expect == "accept" and type(subject.value) in SIMPLE and subject.parameter not in ALONE


def _scenario(contract: Contract, name: str, pack: _Pack, keyword: Keyword, *, streams: bool) -> Scenario:
    subjects = tuple(_subject_of(scenario) for scenario in pack.scenarios)
    stream = contract.parameters.get("stream")
    may_stream = stream is not None and not stream.lacking
    streams = streams and may_stream and _fit_together(pack.body, STREAMED, find_allowed_bodies(contract))
    body = pack.body | STREAMED if streams else pack.body
    subject = Subject(
        requirement=f"parameters.together.values-{name}",
        check="parameters.valid-accepted",
        parameter="together",
        keyword=keyword,
        source=f"{contract.document.id}#request",
        summary=SUMMARY,
        value={item.parameter: item.value for item in subjects},
        expect="accept",
    )
    return Scenario(f"{SCENARIO}-{name}", SUMMARY, (Step(body=body),), subject=subject, also=subjects)


def _pack(waiting: dict[str, list[Scenario]], contract: Contract) -> Iterator[_Pack]:
    """Yield requests with one value of each parameter, as far as they are valid together, until all are sent."""
    allowed = find_allowed_bodies(contract)
    while any(waiting.values()):
        pack = _Pack()
        for scenarios in sorted(waiting.values(), key=len, reverse=True):
            for scenario in scenarios if len(pack.scenarios) < MOST else ():
                if pack.add(scenario, allowed):
                    scenarios.remove(scenario)
                    break
        if not pack.scenarios:
            return
        yield pack


def _fit_together(packed: Body, body: Body, allowed: AllowedBodies) -> bool:
    """Return whether two bodies agree in the fields that both have, and every server must accept them together."""
    agree = all(packed[name] == body[name] for name in packed.keys() & body.keys())
    return agree and allowed.allows({**packed, **body})
