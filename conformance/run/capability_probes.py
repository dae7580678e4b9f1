"""Probing: one request for each capability that neither the dialect, nor the server, nor the user speaks of.

An effect that can be seen shows that the server has it, a refusal that it lacks it. An answer without the effect shows
nothing: the model may not have wanted to, and nobody is accused on that ground. Then a second request may insist, as
`tool_choice: required` does. Of that one only the effect counts: a server that refuses to be told may still call tools
of its own accord.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from conformance.scenario import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.exchange import Exchange
    from conformance.plan.capabilities import Declaration
    from openapi.contract.contract import Contract


@dataclass(frozen=True, slots=True)
class Probe:
    """What to ask for, and how its effect looks in an answer. `insist` is asked for where that showed nothing."""

    body: Mapping[str, Any]
    shows: Callable[[Exchange], bool]
    insist: Mapping[str, Any] | None = None

    def step(self, name: str) -> Step:
        """The request."""
        return Step(name, body=self.body, expect="either")

    def insisting(self, name: str) -> Step | None:
        """The request after one that showed nothing, if there is one."""
        return None if self.insist is None else Step(name, body=self.insist, expect="either")


TOOL: Final = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
PIXEL: Final = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)


def _body(text: object, **members: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], **members}


PROBES: Final[Mapping[str, Probe]] = {
    "n": Probe(_body("Hello!", n=2, temperature=0.7, max_tokens=2), lambda answer: len(answer.choices) == 2),
    "logprobs": Probe(_body("Hello!", logprobs=True, max_tokens=2), lambda answer: _has(answer, "logprobs")),
    "tools": Probe(
        _body("What is the weather in Paris?", tools=[TOOL], tool_choice="auto", max_tokens=64),
        lambda answer: any(choice.tool_calls for choice in answer.choices.values()),
        _body("What is the weather in Paris?", tools=[TOOL], tool_choice="required", max_tokens=64),
    ),
    "thinking": Probe(
        _body("What is 17 times 23?", max_tokens=32),
        lambda answer: any(choice.reasoning for choice in answer.choices.values()),
    ),
    "media": Probe(
        _body(
            [{"type": "text", "text": "Describe it."}, {"type": "image_url", "image_url": {"url": PIXEL}}], max_tokens=2
        ),
        lambda _: False,
    ),
}


def _has(answer: Exchange, member: str) -> bool:
    choices = answer.json.get("choices") if isinstance(answer.json, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(first, dict) and bool(first.get(member))


def probes(declaration: Declaration, contract: Contract) -> dict[str, Probe]:
    """The probes that are left to make."""
    return {name: PROBES[name] for name in declaration.open(contract) if name in PROBES}


def reading(probe: Probe, exchange: Exchange) -> bool | None:
    """What a probe showed: True, it has it; False, it refused; None, nothing.

    Thinking cannot be refused in this way: nothing was asked for.
    """
    if exchange.succeeded:
        return True if probe.shows(exchange) else None
    refused = exchange.status is not None and 400 <= exchange.status < 500 and exchange.status not in (401, 403, 429)
    return False if refused and probe is not PROBES["thinking"] else None
