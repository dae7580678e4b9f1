"""Faults in which earlier requests change the answer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import (
    wrapping_fault,
)
from reference_server.faults.fault_middleware import FaultMiddleware
from reference_server.faults.hooks import Hooks
from reference_server.faults.request_edits import LONG, keep_last

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest


@wrapping_fault("last-instructions-kept", bugs=[21], flaky=True, affects="requests")
def last_instructions_are_kept(app: ASGIApp, contract: Contract) -> ASGIApp:
    """A conversation without a system message gets that of the previous request."""
    kept: list[Json] = []

    def keep(request: ServedRequest) -> None:
        messages = request.payload.get("messages")
        if isinstance(messages, list) and messages and isinstance(messages[0], dict):
            last = kept[:]
            kept[:] = [message for message in messages[:1] if message.get("role") == "system"]
            if not kept:
                messages[:0] = last

    return FaultMiddleware(app, contract, Hooks(request=keep))


@wrapping_fault("last-stops-kept", flaky=True, affects="requests")
def last_stops_are_kept(app: ASGIApp, contract: Contract) -> ASGIApp:
    """A request without stop strings gets those of the previous request."""
    kept: list[Any] = [None]

    def keep(request: ServedRequest) -> None:
        own = request.payload.get("stop")
        if own is None and kept[0] is not None:
            request.payload["stop"] = kept[0]
        kept[0] = own

    return FaultMiddleware(app, contract, Hooks(request=keep))


PERIOD: Final = 300  # requests


def _edited_later(app: ASGIApp, contract: Contract, edit: Callable[[Json], None]) -> ASGIApp:
    """Edit the plain answers in the second half of each PERIOD."""
    seen = [0]

    def count(_request: ServedRequest) -> None:
        seen[0] += 1

    def change(response: Json, _request: ServedRequest) -> None:
        if seen[0] % PERIOD > PERIOD / 2:
            edit(response)

    return FaultMiddleware(app, contract, Hooks(request=count, answer=change))


@wrapping_fault("texts-drift", flaky=True)
def texts_drift(app: ASGIApp, contract: Contract) -> ASGIApp:
    """After every 150 requests the next 150 plain answers begin with their second word."""

    def drift(response: Json) -> None:
        for choice in response.get("choices") or ():
            if choice["message"].get("content"):
                choice["message"]["content"] = choice["message"]["content"].lstrip().partition(" ")[2]

    return _edited_later(app, contract, drift)


@wrapping_fault("counts-drift", flaky=True)
def counts_drift(app: ASGIApp, contract: Contract) -> ASGIApp:
    """After every 150 requests the next 150 count one prompt token too many."""

    def drift(response: Json) -> None:
        if isinstance(usage := response.get("usage"), dict):
            usage["prompt_tokens"] += 1
            usage["total_tokens"] += 1

    return _edited_later(app, contract, drift)


def _edited_when_cached(app: ASGIApp, contract: Contract, edit: Callable[[Json], None]) -> ASGIApp:
    """Edit plain answers to long prompts that were sent before."""
    seen: set[str] = set()

    def look(request: ServedRequest) -> None:
        prompt = str(request.payload.get("messages"))
        request.state["cached"] = len(prompt) > LONG and prompt in seen
        seen.add(prompt)

    def change(response: Json, request: ServedRequest) -> None:
        if request.state.get("cached"):
            edit(response)

    return FaultMiddleware(app, contract, Hooks(request=look, answer=change))


@wrapping_fault("cached-prompts-misread")
def cached_prompts_are_misread(app: ASGIApp, contract: Contract) -> ASGIApp:
    """A long prompt that was sent before has another answer."""

    def change(response: Json) -> None:
        for choice in response.get("choices") or ():
            choice["message"]["content"] = "Sorry, what did you say?"

    return _edited_when_cached(app, contract, change)


@wrapping_fault("cached-tokens-uncounted")
def cached_tokens_are_not_counted(app: ASGIApp, contract: Contract) -> ASGIApp:
    """Of a long prompt that was sent before only 16 tokens are counted."""

    def change(response: Json) -> None:
        if isinstance(usage := response.get("usage"), dict):
            usage["prompt_tokens"] = 16
            usage["total_tokens"] = 16 + usage["completion_tokens"]

    return _edited_when_cached(app, contract, change)


@wrapping_fault("repetitions-differ", flaky=True)
def repetitions_differ(app: ASGIApp, contract: Contract) -> ASGIApp:
    """Of six plain answers to the same request, the last two have other words."""
    seen: Counter[bytes] = Counter()

    def look(request: ServedRequest) -> None:
        request.state["late"] = seen[request.body] % 6 > 3
        seen[request.body] += 1

    def change(response: Json, request: ServedRequest) -> None:
        for choice in (response.get("choices") or ()) if request.state.get("late") else ():
            if choice["message"].get("content"):
                choice["message"]["content"] = choice["message"]["content"][::-1]

    return FaultMiddleware(app, contract, Hooks(request=look, answer=change))


KEPT: Final = ("temperature", "top_p", "presence_penalty", "frequency_penalty")


@wrapping_fault("last-sampling-kept", bugs=[105, 106], flaky=True, affects="requests")
def last_sampling_is_kept(app: ASGIApp, contract: Contract) -> ASGIApp:
    """Temperature, top_p and penalties of a request stay in effect for later requests."""
    return FaultMiddleware(app, contract, Hooks(request=keep_last(KEPT)))
