"""Blind faults of two parameters together: choices with scores, and temperatures, usage and stop tokens with others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import dropping, is_number, is_whole, when
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

MOST_CHOICES = 128
HOTTEST = 2.0


def _keep_scores_of_first_choice(answer: Json, _request: ServedRequest) -> None:
    """Score the first choice only. Violates logprobs: those of each choice."""
    for choice in choices_of(answer):
        if choice.get("index") and choice.get("logprobs"):
            choice["logprobs"] = None


def _samples_with_tools(sent: Json) -> bool:
    one = sent.get("n") in (None, 1) and sent.get("best_of") in (None, 1)
    return bool(sent.get("tools")) and one and is_number(sent.get("temperature", 1.0), 0, HOTTEST)


def _choose_greedily(request: ServedRequest) -> None:
    """Use a temperature for calls. Violates temperature: how tokens are sampled."""
    request.payload["temperature"] = 0


def _has_several(sent: Json) -> bool:
    return is_whole(sent.get("n"), 2, MOST_CHOICES)


def _has_stop(sent: Json) -> bool:
    return bool(sent.get("stop"))


scores_of_later_choices_lost = hooked_fault(
    "scores-of-later-choices-lost",
    "In plain answers with several choices, only the first one has log-probabilities.",
    answer=_keep_scores_of_first_choice,
    applies_to=allows(n=2, temperature=1.0, logprobs=True),
)
temperatures_lost_next_to_tools = when(
    "temperatures-lost-next-to-tools",
    "If the request has tools, the most likely token is always chosen.",
    _samples_with_tools,
    _choose_greedily,
    applies_to=has_parameters("tools"),
)
usage_lost_next_to_several = when(
    "usage-lost-next-to-several",
    "A stream of several choices has no usage, although include_usage is true.",
    _has_several,
    dropping("stream_options"),
    applies_to=allows(n=2, temperature=1.0, stream=True, stream_options={"include_usage": True}),
)
stop_tokens_lost_next_to_stop = when(
    "stop-tokens-lost-next-to-stop",
    "Tokens in stop_token_ids have no effect if there are stop strings.",
    _has_stop,
    dropping("stop_token_ids"),
    applies_to=has_parameters("stop", "stop_token_ids"),
)
