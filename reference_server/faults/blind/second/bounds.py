"""Blind faults at valid values that a server refuses, or for which it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import fail, is_number, is_whole, refusing, when
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

GREATEST: Final = 2**31 - 1
ALTERNATIVES: Final = 5
LARGE_TOP_K: Final = 1_024
SCORES: Final = 10
LEAST_LIMIT: Final = 3


def _overshoot(request: ServedRequest) -> None:
    request.payload["max_tokens"] = LEAST_LIMIT


def _blank_first(response: Json, request: ServedRequest) -> None:
    if is_whole(request.payload.get("max_tokens"), 1, 1):
        for choice in choices_of(response):
            if message_of(choice).get("content"):
                message_of(choice)["content"] = ""


def _hide_scores(response: Json, request: ServedRequest) -> None:
    if "top_logprobs" in request.payload and request.payload["top_logprobs"] is None:
        for choice in choices_of(response):
            if "logprobs" in choice:
                choice["logprobs"] = None


one_token_answers_fail = when(
    "one-token-answers-fail",
    "A request with `max_tokens: 1` gets a 500.",
    lambda sent: is_whole(sent.get("max_tokens"), 1, 1),
    fail,
)
one_token_answers_blank = hooked_fault(
    "one-token-answers-blank",
    "With `max_tokens: 1` the text is empty, although one token is counted.",
    answer=_blank_first,
    chunk=_blank_first,
)
small_limits_overshoot = when(
    "small-limits-overshoot",
    "A max_tokens below 3 has the effect of 3.",
    lambda sent: is_whole(sent.get("max_tokens"), 1, LEAST_LIMIT - 1),
    _overshoot,
)
whole_top_p_refused = when(
    "whole-top-p-refused",
    "`top_p: 1.0` is refused.",
    lambda sent: is_number(sent.get("top_p"), 1, 1),
    refusing("`top_p` must be > 0.0 and < 1.0"),
)
zero_temperatures_refused = when(
    "zero-temperatures-refused",
    "`temperature: 0` is refused.",
    lambda sent: is_number(sent.get("temperature"), 0, 0),
    refusing("`temperature` must be strictly positive"),
    applies_to=allows(temperature=0),
)
many_alternatives_refused = when(
    "many-alternatives-refused",
    "A top_logprobs above 5 is refused.",
    lambda sent: is_whole(sent.get("top_logprobs"), ALTERNATIVES + 1, 20),
    refusing("cannot request more than 5 logprobs"),
    applies_to=allows(logprobs=True, top_logprobs=2 * ALTERNATIVES),
)
large_top_k_fails = when(
    "large-top-k-fails",
    "A top_k above 1,024 gets a 500.",
    lambda sent: is_whole(sent.get("top_k"), LARGE_TOP_K + 1, GREATEST),
    fail,
    applies_to=allows(top_k=2 * LARGE_TOP_K),
)
empty_stop_lists_refused = when(
    "empty-stop-lists-refused",
    "`stop: []` is refused.",
    lambda sent: sent.get("stop") == [],
    refusing("stop must contain at least one string"),
    applies_to=allows(stop=[]),
)
negative_frequencies_refused = when(
    "negative-frequencies-refused",
    "A negative frequency_penalty is refused.",
    lambda sent: is_number(sent.get("frequency_penalty"), -2, -1e-9),
    refusing("`frequency_penalty` must be strictly positive"),
    applies_to=allows(frequency_penalty=-1.0),
)
null_alternatives_hide_logprobs = hooked_fault(
    "null-alternatives-hide-logprobs",
    "With `top_logprobs: null` the answer has no log-probabilities.",
    answer=_hide_scores,
    chunk=_hide_scores,
    applies_to=allows(logprobs=True, top_logprobs=None),
)
ten_prompt_scores_fail = when(
    "ten-prompt-scores-fail",
    "A prompt_logprobs of 10 or more gets a 500.",
    lambda sent: is_whole(sent.get("prompt_logprobs"), SCORES, 20),
    fail,
    applies_to=has_parameters("prompt_logprobs"),
)
