"""Blind faults of refusals: prompts that are cut instead, and a status that invites to try again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import has_parameters, hooked_fault
from reference_server.faults.fault import Fault

if TYPE_CHECKING:
    from reference_server.engine import Engine, Generation, SamplingParams
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

INVALID: Final = (400, 422)
TOO_MANY: Final = 429


class TruncatingEngine:
    """An engine that cuts what does not fit. Violates truncate_prompt_tokens: by default a prompt is not cut."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def check_size(self, messages: list[Json], tools: list[Json] | None, params: SamplingParams) -> None:
        """Check the size of a prompt that may be cut."""
        self._engine.check_size(messages, tools, _truncating(params))

    def prepare(self, prompt: Any, params: SamplingParams) -> None:
        """Prepare a prompt that may be cut."""
        self._engine.prepare(prompt, _truncating(params))

    def submit(self, prompt: Any, params: SamplingParams) -> Generation:
        """Submit the prompt, or its end if it is too long."""
        return self._engine.submit(prompt, _truncating(params))


def _truncating(params: SamplingParams) -> SamplingParams:
    return replace(params, truncate_prompt_tokens=-1) if params.truncate_prompt_tokens is None else params


def _blame_the_rate(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """Report that no provider is left. Violates the status: that of an invalid request."""
    if head.status in INVALID:
        head.status = TOO_MANY
    return body


too_long_prompts_are_cut = Fault(
    "too-long-prompts-are-cut",
    "Of a prompt that is longer than the context, the beginning is cut, and the request is answered.",
    has_parameters("truncate_prompt_tokens"),
    lambda app, _contract: app,
    TruncatingEngine,
    affects="refusals",
)
refusals_say_too_many_requests = hooked_fault(
    "refusals-say-too-many-requests",
    "An invalid request is refused with the status 429, for which clients try again.",
    refusal=_blame_the_rate,
)
