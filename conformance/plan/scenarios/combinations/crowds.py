"""Generate crowded requests: every effect that shows in its own answer stands next to everything else in some request.

Effects are judged one by one, so a request has as many of them, and of what may stand next to them, as the contract
allows together. Few requests are then enough for all pairs, half of them streams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.plan.media import KEY, MediaParts
from conformance.plan.scenarios.combinations.allowed_bodies import find_allowed_bodies
from conformance.plan.scenarios.combinations.crowd_parts import EFFECTS, OTHERS, Part
from conformance.plan.scenarios.combinations.tasks import LIMIT, NEWER_LIMIT, list_supported
from conformance.scenario import Scenario, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from conformance.scenario import Expectation
    from openapi.contract.contract import Contract

    Body = dict[str, Any]
    Group = tuple[Part, ...]
    Pair = tuple[str, str]

CROWDS: Final = "crowds-"
"""The beginning of the ids of the scenarios."""
SUMMARY: Final = "a request with many parameters, of which each has its effect next to all others"
QUESTION: Final = "Give me a JSON object with name and age"
BASES: Final[tuple[Mapping[str, Any], ...]] = ({"temperature": 0}, {"temperature": 1.0, "top_k": 1}, {})
"""What makes the likeliest tokens the answer: the first of these that the contract allows together with the others."""


def generate(contract: Contract) -> tuple[Scenario, ...]:
    """Return a scenario for each request; with what a server may refuse, also one without it if it is refused."""
    return tuple(_list_scenarios(Crowds(contract)))


def _list_scenarios(crowds: Crowds) -> Iterator[Scenario]:
    for number, group in enumerate(crowds.cover(), 1):
        identity, usual = f"{CROWDS}{number}", _leave_out_optional(group)
        expect: Expectation = "answer" if usual == group else "either"
        step = Step(name_step(group), body=crowds.join(group), expect=expect)
        yield Scenario(identity, SUMMARY, (step,))
        if usual != group and (body := crowds.join(usual)) is not None:
            step = Step(name_step(usual), body=body)
            yield Scenario(f"{identity}-usual", SUMMARY, (step,), unless_answered=identity)


def _leave_out_optional(group: Group) -> Group:
    """Return the parts that a server has to accept, without those that say nothing then."""
    left = tuple(part for part in group if not part.optional)
    return tuple(part for part in left if not _is_idle(part, left))


def _is_idle(part: Part, group: Group) -> bool:
    """Return whether a part says nothing, because no other one of the group sends what it needs."""
    return bool(part.needs) and not any(part.needs in other.values for other in group)


def name_step(group: Group) -> str:
    """Return the names of the effects that the answer to a group shows, joined by hyphens."""
    return "-".join(_list_names(group))


class Crowds:
    """Groups the parts that a contract allows, and makes the bodies of their requests."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._known = list_supported(contract)
        self._media = MediaParts(contract)
        self.effects = tuple(part for part in EFFECTS if self._is_usable(part) and part.check in contract.requirements)
        left = tuple(part for part in EFFECTS if part not in self.effects and self._is_usable(part))
        self.parts = (*self.effects, *left, *(part for part in OTHERS if self._is_usable(part)))

    def join(self, group: Iterable[Part]) -> Body | None:
        """Return the body with all parts; None if they contradict each other or the contract."""
        group = tuple(group)
        names = {part.name for part in group}
        if any(part.apart & (names - {part.name}) for part in group):
            return None
        joined: Body = {}
        content: list[Body] = []
        messages: list[Mapping[str, Any]] = []
        tokens = 0
        for part in group:
            for name, value in part.values.items():
                if name in self._known and joined.setdefault(name, value) != value:
                    return None
            content += [{KEY: part.medium}] if part.medium else []
            first = part.messages[:1] and part.messages[0]["role"] == "system"
            messages = [*part.messages, *messages] if first else [*messages, *part.messages]
            tokens = max(tokens, part.tokens)
        question = next((part.question for part in group if part.question), QUESTION)
        asked = [*content, {"type": "text", "text": question}] if content else question
        after = [message for part in group for message in part.after]
        turns = self._media.insert([*messages, {"role": "user", "content": asked}, *after])
        limit = LIMIT if LIMIT in self._known else NEWER_LIMIT
        for base in BASES:
            body = {"messages": turns, limit: tokens, **base, **joined}
            if body.keys() <= self._known | {"model"} and find_allowed_bodies(self._contract).allows(body):
                return body
        return None

    def list_pairs(self) -> Iterator[tuple[Part, Part]]:
        """Yield each effect with each part next to which an answer may show it, if the contract allows both."""
        for effect in self.effects:
            for part in self.parts:
                shown = part is not effect and part.name not in effect.hidden_by
                if shown and self.join((effect, part)) is not None:
                    yield effect, part

    def cover(self) -> Iterator[Group]:
        """Yield groups of parts so that each pair is in one in which nothing hides the effect."""
        missing = {(effect.name, part.name): (effect, part) for effect, part in self.list_pairs()}
        while missing:
            group: Group = next(iter(missing.values()))
            for part in self.parts:
                gained = _list_shown((*group, part)) & missing.keys()
                if part in group or _is_idle(part, group) or len(gained) <= len(_list_shown(group) & missing.keys()):
                    continue
                if self.join((*group, part)) is not None:
                    group = (*group, part)
            group = self._fill(group)
            for pair in _list_shown(group):
                missing.pop(pair, None)
            yield group

    def _fill(self, group: Group) -> Group:
        """Return the group with all further parts that hide none of its effects."""
        for part in self.parts:
            more = (*group, part)
            if part in group or _is_idle(part, group) or not {*_list_names(group)} <= {*_list_names(more)}:
                continue
            if self.join(more) is not None:
                group = more
        return group

    def _is_usable(self, part: Part) -> bool:
        """Return whether the server has what a part needs, and the contract allows it alone."""
        lacks = not part.capabilities <= self._contract.capabilities.keys()
        named = next(iter(part.values), None)
        media = [{"role": "user", "content": [{KEY: part.medium}]}] if part.medium else []
        if lacks or (named and named not in self._known) or not self._media.supports(media):
            return False
        return self.join((part,)) is not None


def list_judged(group: Iterable[Part]) -> tuple[Part, ...]:
    """Return the effects that the answer to a group shows: those that no other part of it hides."""
    parts = tuple(group)
    names = {part.name for part in parts}
    return tuple(part for part in parts if part.check and not part.hidden_by & names)


def _list_names(group: Group) -> list[str]:
    return [part.name for part in list_judged(group)]


def _list_shown(group: Group) -> set[Pair]:
    """Return the pairs of an effect and another part that the answer to a group shows."""
    return {(effect.name, part.name) for effect in list_judged(group) for part in group if part is not effect}
