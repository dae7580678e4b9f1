"""Blind faults of two parameters together: limits of choices, filtered scores, and thoughts after instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import is_number, is_whole, messages_of, when
from reference_server.faults.blind.score_recipes import scored_choices
from reference_server.faults.blind.thought_recipes import thinks, turn_thinking_off
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

LIMITS: Final = ("max_tokens", "max_completion_tokens")
MOST: Final = 2**31 - 1
MOST_CHOICES: Final = 128
LARGEST_TOP_P: Final = 0.999_999


def _limits_several(sent: Json) -> bool:
    limited = any(is_whole(sent.get(name), 2, MOST) for name in LIMITS)
    return is_whole(sent.get("n"), 2, MOST_CHOICES) and limited and not sent.get("min_tokens")


def _divide_limits(request: ServedRequest) -> None:
    """Count the tokens of all choices. Violates max_tokens, which limits each choice."""
    for name in LIMITS:
        if is_whole(request.payload.get(name), 2, MOST):
            request.payload[name] = max(1, request.payload[name] // request.payload["n"])


def _make_certain(response: Json, request: ServedRequest) -> None:
    """Score what a filter has left. Violates logprob: the logarithm of the probability."""
    for _, entries in scored_choices(response) if is_number(request.payload.get("top_p"), 0, LARGEST_TOP_P) else ():
        for entry in entries:
            entry["logprob"] = 0.0


def _thinks_after_instructions(sent: Json) -> bool:
    return thinks(sent) and any(message.get("role") == "system" for message in messages_of(sent))


limits_shared_by_choices = when(
    "limits-shared-by-choices",
    "The token limit is divided among several choices.",
    _limits_several,
    _divide_limits,
    applies_to=allows(n=2, max_tokens=8),
)
top_p_makes_tokens_certain = hooked_fault(
    "top-p-makes-tokens-certain",
    "With a top_p below 1, the log-probability of each chosen token is 0.",
    answer=_make_certain,
    chunk=_make_certain,
    applies_to=allows(logprobs=True, top_p=0.5),
)
# Violates enable_thinking: the model thinks if it is true.
thinking_lost_next_to_instructions = when(
    "thinking-lost-next-to-instructions",
    "Reasoning is turned off if there is a system message.",
    _thinks_after_instructions,
    turn_thinking_off,
    applies_to=has_parameters("chat_template_kwargs"),
)
