"""Probe capabilities that neither the dialect, nor the server's description, nor the user declares or denies.

A visible effect shows that the server has the capability, a refusal shows that it does not. An answer without the
effect shows nothing, because the model may have chosen to answer without it. Then a second request may force the
effect, for example with `tool_choice: required`. Of that request only the effect counts: a server that refuses to be
forced may still call tools when the model chooses to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from conformance.scenario import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.exchange import Exchange
    from conformance.plan.capabilities import DeclaredCapabilities
    from openapi.contract.contract import Contract


@dataclass(frozen=True, slots=True)
class CapabilityProbe:
    """A request for a capability, and a test for its effect. `forced_body` is sent if `body` shows nothing."""

    body: Mapping[str, Any]
    shows_effect: Callable[[Exchange], bool]
    forced_body: Mapping[str, Any] | None = None

    def step(self, name: str) -> Step:
        """Return the step that sends the request."""
        return Step(name, body=self.body, expect="either")

    def forced_step(self, name: str) -> Step | None:
        """Return the step that forces the effect, if there is one."""
        return None if self.forced_body is None else Step(name, body=self.forced_body, expect="either")


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


def _body(content: object, **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": content}], **fields}


PROBES: Final[Mapping[str, CapabilityProbe]] = {
    "n": CapabilityProbe(_body("Hello!", n=2, temperature=0.7, max_tokens=2), lambda answer: len(answer.choices) == 2),
    "logprobs": CapabilityProbe(_body("Hello!", logprobs=True, max_tokens=2), lambda answer: _has(answer, "logprobs")),
    "tools": CapabilityProbe(
        _body("What is the weather in Paris?", tools=[TOOL], tool_choice="auto", max_tokens=64),
        lambda answer: any(choice.tool_calls for choice in answer.choices.values()),
        _body("What is the weather in Paris?", tools=[TOOL], tool_choice="required", max_tokens=64),
    ),
    "thinking": CapabilityProbe(
        _body("What is 17 times 23?", max_tokens=32),
        lambda answer: any(choice.reasoning for choice in answer.choices.values()),
    ),
    "media": CapabilityProbe(
        _body(
            [{"type": "text", "text": "Describe it."}, {"type": "image_url", "image_url": {"url": PIXEL}}], max_tokens=2
        ),
        lambda _: False,
    ),
}


def _has(answer: Exchange, name: str) -> bool:
    choices = answer.json.get("choices") if isinstance(answer.json, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(first, dict) and bool(first.get(name))


def select_probes(capabilities: DeclaredCapabilities, contract: Contract) -> dict[str, CapabilityProbe]:
    """Return the probes of the capabilities whose status is unknown."""
    return {name: PROBES[name] for name in capabilities.list_unknown(contract) if name in PROBES}


def evaluate(probe: CapabilityProbe, exchange: Exchange) -> bool | None:
    """Return True if the answer shows the effect, False if the request was refused, and None otherwise.

    A refusal of the thinking probe shows nothing, because its request does not ask for thinking.
    """
    if exchange.succeeded:
        return True if probe.shows_effect(exchange) else None
    refused = exchange.status is not None and 400 <= exchange.status < 500 and exchange.status not in (401, 403, 429)
    return False if refused and probe is not PROBES["thinking"] else None
