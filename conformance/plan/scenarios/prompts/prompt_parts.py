"""Generate requests from each of which one clause is missing: a server that reads everything answers each differently.

The whole requests are long conversations such as agents send: with detailed instructions, earlier turns, calls of tools
and their results, and tools whose schemas are nested. A clause is missing at the end of one part, where a server that
cuts, forgets or overwrites the part loses it in the whole request too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.plan.media import MediaParts
from conformance.plan.scenarios.combinations.allowed_bodies import find_allowed_bodies
from conformance.plan.scenarios.prompts.clauses import Clauses
from conformance.plan.scenarios.prompts.mixed_parts import MIXED, PICTURE_ALONE, REASONED, THINKING
from conformance.plan.scenarios.prompts.text_parts import (
    AFTER_NULL,
    AGENT,
    ANSWER_IN_PARTS,
    BESIDE_A_FORM,
    DEVELOPER,
    DEVELOPER_AFTER_SYSTEM,
    EQUAL_TURN,
    FIRST_QUESTION,
    IN_PARTS,
    MARKED,
    NULL,
    REPEATED,
    TEXTS,
    write_with_marks,
)
from conformance.scenario import Scenario, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance.scenario import Expectation
    from openapi.contract.contract import Contract

    Body = dict[str, Any]

SCENARIO: Final = "parts-of-a-prompt"
SUMMARY: Final = "long requests, and the same without a clause of one part"
WITHOUT: Final = "-without-"
"""Stands between the name of the whole request and that of the part without its last clause."""
REPLACED: Final = frozenset({"line-ends", "place-of-picture", "role", "role-of-instructions", NULL})
"""Parts that are written in another way instead of left out, which may take as many tokens."""
ONE_TOKEN: Final = {"max_tokens": 1, "temperature": 0}
TOLD: Final = {"logprobs": True, "top_logprobs": 5}
STREAMED: Final = ({"stream": True, "stream_options": {"include_usage": True}}, {"stream": True})
SAMPLED: Final = (
    {"temperature": 1.0, "seed": 7},
    {"stop": ["chatproof never says this"]},
    {"user": "chatproof"},
)
"""Parameters that leave the prompt as it is."""
FORM: Final = {
    "response_format": {
        "type": "json_schema",
        "json_schema": {
            "name": "lift",
            "schema": {
                "type": "object",
                "properties": {"lift": {"type": "boolean"}},
                "required": ["lift"],
                "additionalProperties": False,
            },
            "strict": True,
        },
    }
}
WHOLE: Final = {**TEXTS, **REASONED, **MIXED}
RARE: Final = frozenset(
    {
        *(f"{AGENT}{WITHOUT}earlier-result", f"{AGENT}{WITHOUT}parameter"),
        *(f"{AGENT}{WITHOUT}reserved-name", f"{AGENT}{WITHOUT}later-result", f"{AFTER_NULL}{WITHOUT}call"),
    }
)
"""Requests that only a thorough run sends, because another one is without a clause of such a part."""
BESIDE: Final[dict[str, tuple[Body, ...]]] = {
    MARKED: (TOLD, *STREAMED),
    DEVELOPER: (TOLD, FORM),
    BESIDE_A_FORM: (FORM,),
    **dict.fromkeys(
        (IN_PARTS, ANSWER_IN_PARTS, *MIXED.keys() - {PICTURE_ALONE}), (TOLD, {"temperature": 1.0, "n": 2}, *SAMPLED)
    ),
}
"""Parameters of some requests, as far as the contract allows them together. All others ask for log-probabilities."""
BESIDE_OTHERS: Final = f"{AGENT}-beside-others"
"""A whole request next to parameters that leave its prompt as it is."""
FROM_AN_ANSWER: Final = f"{REPEATED}{WITHOUT}{FIRST_QUESTION}"
ONE_TURN: Final = f"{REPEATED}{WITHOUT}{EQUAL_TURN}"
MAYBE_REFUSED: Final = frozenset(
    {*(AFTER_NULL, BESIDE_A_FORM, DEVELOPER, DEVELOPER_AFTER_SYSTEM, MARKED, FROM_AN_ANSWER), *REASONED, *MIXED}
)
"""Requests that not every model has a form for."""


def generate(contract: Contract) -> tuple[Scenario, ...]:
    """Return the scenario; empty if the contract allows none of the whole requests.

    Instructions between turns may be refused: not every model has a form for them. So may null next to calls, an answer
    before the first question, and parts of several kinds in one request.
    """
    requests = _Requests(contract)
    steps = tuple(step for name in WHOLE if name not in REASONED or requests.reasons for step in requests.steps(name))
    return (Scenario(SCENARIO, SUMMARY, steps),) if steps else ()


def list_unfit(contract: Contract) -> Iterator[tuple[Scenario, str]]:
    """Yield the scenario if the contract does not allow it, with the reason."""
    if not generate(contract):
        step = Step(MARKED, body={**write_with_marks(Clauses(None, [])), **ONE_TOKEN})
        yield Scenario(SCENARIO, SUMMARY, (step,)), f"scenario {SCENARIO}: the contract allows none of its requests"


class _Requests:
    """Writes the requests in the forms of one contract."""

    def __init__(self, contract: Contract) -> None:
        self._allowed = find_allowed_bodies(contract)
        self._media = MediaParts(contract)
        self._known = {"model", *(name for name, item in contract.parameters.items() if not item.lacking)}
        self.reasons = THINKING in contract.capabilities and "chat_template_kwargs" in self._known
        self._capabilities = frozenset(contract.capabilities) - (frozenset() if self.reasons else {THINKING})

    def steps(self, name: str) -> Iterator[Step]:
        """Yield a whole request and those without a clause, with log-probabilities where they are allowed."""
        parts: list[str] = []
        body = self._write(name, None, parts)
        if body is None or not self._allows({**body, **ONE_TOKEN}):
            return
        fields = self._find_fields(body, BESIDE.get(name, (TOLD,)))
        expect: Expectation = "either" if name in MAYBE_REFUSED else "answer"
        yield Step(name, body={**body, **ONE_TOKEN, **fields}, expect=expect, thorough=name in RARE)
        for part in parts:
            without = self._write(name, part, [])
            step = f"{name}{WITHOUT}{part}"
            sent = {**(without or body), **ONE_TOKEN, **fields}
            yield Step(step, body=sent, expect="either" if step in MAYBE_REFUSED else expect, thorough=step in RARE)
        if name == AGENT:
            beside = self._find_fields(body, (*STREAMED, *SAMPLED))
            yield Step(BESIDE_OTHERS, body={**body, **ONE_TOKEN, **beside}, expect="either")

    def _write(self, name: str, left_out: str | None, parts: list[str]) -> Body | None:
        """Return a request; None if the contract has no form for its media."""
        body = WHOLE[name](Clauses(left_out, parts, self._capabilities))
        if not self._media.supports(body["messages"]):
            return None
        return {**body, "messages": self._media.insert(body["messages"])}

    def _find_fields(self, body: Body, wished: Iterable[Body]) -> Body:
        """Return those of the parameters that the contract allows in a request, next to each other."""
        added: Body = {}
        for fields in wished:
            if self._allows({**body, **ONE_TOKEN, **added, **fields}):
                added |= fields
        return added

    def _allows(self, body: Body) -> bool:
        return body.keys() <= self._known and self._allowed.allows(body)
