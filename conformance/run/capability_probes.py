"""Probe capabilities that neither the dialect, nor the server's description, nor the user declares or denies.

A visible effect shows that the server has the capability, a refusal shows that it does not. An answer without the
effect shows nothing, because the model may have chosen to answer without it. Then a second request may force the
effect, for example with `tool_choice: required`. Of that request only the effect counts: a server that refuses to be
forced may still call tools when the model chooses to.

Capabilities that the dialect assumes, but its document takes away under a condition, are probed as well: a server that
refuses such a capability by name follows the document. They share requests as far as the contract allows it, and are
requested one by one only if a shared request is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from conformance.judge.acceptance import is_refused_somehow
from conformance.judge.error_envelope import names_any
from conformance.scenario import Step
from openapi.contract.capability import request_for
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

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
}


def _has(answer: Exchange, name: str) -> bool:
    choices = answer.json.get("choices") if isinstance(answer.json, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(first, dict) and bool(first.get(name))


def group_conditional(capabilities: DeclaredCapabilities, contract: Contract) -> list[tuple[str, ...]]:
    """Return the capabilities that are assumed under a condition, in groups that one request can use together."""
    validator = Validator(contract)
    groups: list[tuple[str, ...]] = []
    for name in capabilities.list_conditional(contract):
        if request_for(name, contract.parameters) is None:
            continue
        for at, group in enumerate(groups):
            if not validator.request_problems(_fields((*group, name), contract) | {"model": "m"}):
                groups[at] = (*group, name)
                break
        else:
            groups.append((name,))
    return groups


def _fields(names: Iterable[str], contract: Contract) -> dict[str, Any]:
    body = _body("Hello!", max_tokens=2)
    for name in names:
        body |= request_for(name, contract.parameters) or {}
    return body


def conditional_step(names: tuple[str, ...], contract: Contract) -> Step:
    """Return the step that requests these capabilities at once."""
    return Step(f"probe-{'-'.join(names)}", body=_fields(names, contract), expect="either")


def is_refused_by_name(exchange: Exchange, name: str, contract: Contract) -> bool:
    """Tell whether the server refused a request and named a parameter of the capability."""
    own = [parameter.name for parameter in contract.parameters.values() if parameter.capability == name]
    return exchange.status not in (401, 403, 429) and is_refused_somehow(exchange) and names_any(exchange, own)


def select_probes(capabilities: DeclaredCapabilities, contract: Contract) -> dict[str, CapabilityProbe]:
    """Return the probes of the capabilities whose status is unknown."""
    probes = {**PROBES, **dict(_media_probes(contract))}
    return {name: probes[name] for name in capabilities.list_unknown(contract) if name in probes}


def _media_probes(contract: Contract) -> Iterator[tuple[str, CapabilityProbe]]:
    """Yield a probe with an image in the form of the dialect.

    Its answer shows no effect, but a refusal shows that the server lacks the capability.
    """
    for probe in contract.parameters["messages"].probes:
        if probe.name == "text-and-image" and probe.capability is not None:
            yield probe.capability, CapabilityProbe({"messages": probe.value, "max_tokens": 2}, lambda _: False)


def evaluate(probe: CapabilityProbe, exchange: Exchange) -> bool | None:
    """Return True if the answer shows the effect, False if the request was refused, and None otherwise.

    A refusal of the thinking probe shows nothing, because its request does not ask for thinking. An answer that ends
    with a tool call but has none shows that the server tries to call tools: the capability is there, and broken.
    """
    if exchange.succeeded:
        claimed = any(choice.finish_reason == "tool_calls" for choice in exchange.choices.values())
        return True if probe.shows_effect(exchange) or claimed else None
    refused = exchange.status is not None and 400 <= exchange.status < 500 and exchange.status not in (401, 403, 429)
    return False if refused and probe is not PROBES["thinking"] else None
