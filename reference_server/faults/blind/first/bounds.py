"""Blind faults at greatest and least values, and just inside the bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import fail, is_number, is_whole, refusing, when
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

INT64 = 2**63
INT32_GREATEST = 2**31 - 1
ROUND = 10**15  # from here on, many printers of numbers use an exponent
NUMBERS = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "repetition_penalty")


def _blank(response: Json, request: ServedRequest) -> None:
    if is_number(request.payload.get("temperature"), 1e-6, 2e-4):
        for choice in choices_of(response):
            if message_of(choice).get("content"):
                message_of(choice)["content"] = " " * len(message_of(choice)["content"])


def _greedy(request: ServedRequest) -> None:
    request.payload["top_k"] = 1


def _lose_ban(request: ServedRequest) -> None:
    bias = request.payload["logit_bias"]
    request.payload["logit_bias"] = {token: value for token, value in bias.items() if value != -100}


def _is_doubtful_seed(sent: Json) -> bool:
    return is_whole(sent.get("seed"), ROUND, INT64 - 1) and sent["seed"] % 1_000 == 0


seeds_beyond_int64_fail = when(
    "seeds-beyond-int64-fail",
    "A seed of 2**63 or more gets a 500.",
    lambda sent: is_whole(sent.get("seed"), INT64, 2 * INT64 - 1),
    fail,
    applies_to=lambda contract: contract.parameters["seed"].schema.get("maximum", 0) >= INT64,
)
greatest_limit_fails = when(
    "greatest-limit-fails",
    "The greatest 32-bit integer as max_tokens gets a 500, because the prompt is added to it.",
    lambda sent: is_whole(sent.get("max_tokens"), INT32_GREATEST - 4096, INT32_GREATEST),
    fail,
)
tiny_temperatures_blank = hooked_fault(
    "tiny-temperatures-blank",
    "At temperatures between 0.000001 and 0.0002, answers consist of spaces.",
    answer=_blank,
    chunk=_blank,
)
least_temperatures_fail = when(
    "least-temperatures-fail",
    "A temperature above 0 and below 0.000001 gets a 500.",
    lambda sent: is_number(sent.get("temperature"), 1e-300, 1e-6),
    fail,
)
least_top_p_fails = when(
    "least-top-p-fails",
    "A top_p below 0.001 gets a 500.",
    lambda sent: is_number(sent.get("top_p"), 2e-6, 1e-3),
    fail,
)
no_prompt_scores_refused = when(
    "no-prompt-scores-refused",
    "`prompt_logprobs: 0` is refused.",
    lambda sent: is_whole(sent.get("prompt_logprobs"), 0, 0),
    refusing("prompt_logprobs must be a positive value"),
    applies_to=has_parameters("prompt_logprobs"),
)
top_k_zero_is_greedy = when(
    "top-k-zero-is-greedy",
    "`top_k: 0` keeps one token instead of all.",
    lambda sent: is_whole(sent.get("top_k"), 0, 0),
    _greedy,
    applies_to=has_parameters("top_k"),
)
whole_numbers_refused = when(
    "whole-numbers-refused",
    "A parameter that is a number is refused if it is written as an integer.",
    lambda sent: any(is_whole(sent.get(name), -2, 2) for name in NUMBERS),
    refusing("the value is not a float"),
)
least_repetition_penalty_fails = when(
    "least-repetition-penalty-fails",
    "A repetition_penalty below 0.1 gets a 500.",
    lambda sent: is_number(sent.get("repetition_penalty"), 1e-9, 0.1),
    fail,
    applies_to=has_parameters("repetition_penalty"),
)
greatest_ban_ignored = when(
    "greatest-ban-ignored",
    "A logit_bias of exactly -100 is ignored.",
    lambda sent: isinstance(sent.get("logit_bias"), dict) and -100 in sent["logit_bias"].values(),
    _lose_ban,
    applies_to=has_parameters("logit_bias"),
)
round_seeds_refused = when(
    "round-seeds-refused",
    "Large seeds that end with zeros are refused, because they are printed with an exponent.",
    _is_doubtful_seed,
    refusing("seed must be an unsigned integer"),
)
