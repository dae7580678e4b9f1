"""Blind faults of concurrent requests: parameters of sampling and prompts of other requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import crowd_fault, messages_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import Json, ServedRequest

SAMPLERS: Final = ("temperature", "top_p", "seed")
FEW: Final = 2
MANY: Final = 6


def _use_first_sampler(crowd: Crowd) -> Hooks:
    """Sample a batch with one set of parameters. Violates temperature: a parameter of the request."""

    def use(request: ServedRequest) -> None:
        if crowd.size < FEW:
            return
        first = next(iter(crowd.running.values()))
        for name in SAMPLERS:
            if name in first:
                request.payload[name] = first[name]
            else:
                request.payload.pop(name, None)

    return Hooks(request=use)


def _swap_prompts(crowd: Crowd) -> Hooks:
    """Continue another prompt. Violates messages: the conversation that the model continues."""

    def swap(request: ServedRequest) -> None:
        own = messages_of(request.payload)
        if crowd.size < MANY or len(own) != 1:
            return
        others: list[Json] = [other for other in crowd.others(request) if len(messages_of(other)) == 1]
        if len(others) % 2 and messages_of(others[0]) != own:
            request.payload["messages"] = others[0]["messages"]

    return Hooks(request=swap)


crowds_share_the_first_sampler = crowd_fault(
    "crowds-share-the-first-sampler",
    "Concurrent requests are sampled with the temperature, top_p and seed of the first one.",
    _use_first_sampler,
)
crowded_prompts_swapped = crowd_fault(
    "crowded-prompts-swapped",
    "Of six and more concurrent requests with one message, some are answered for the message of another one.",
    _swap_prompts,
)
