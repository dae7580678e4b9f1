"""Blind faults of the effects of sampling parameters in the middle of their range."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import engine_fault, when
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, sampling_fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

LIMIT: Final = 32
MODEL_DEFAULTS: Final = {"top_k": 20, "top_p": 0.8}
REPETITION: Final = ("repetition_penalty",)


@sampling_fault("temperatures-lowered")
def temperatures_are_lowered(params: SamplingParams) -> SamplingParams:
    """Temperatures above 0.02 are lowered to 0.02."""
    return replace(params, temperature=min(params.temperature, 0.02))


@sampling_fault("temperatures-doubled")
def temperatures_are_doubled(params: SamplingParams) -> SamplingParams:
    """The temperature is doubled."""
    return replace(params, temperature=params.temperature * 2)


@sampling_fault("high-temperatures-are-one")
def high_temperatures_are_one(params: SamplingParams) -> SamplingParams:
    """Temperatures above 1 have the effect of 1."""
    return replace(params, temperature=min(params.temperature, 1.0))


@sampling_fault("repetition-penalty-twice", applies_to=has_parameters(*REPETITION))
def repetition_penalty_is_applied_twice(params: SamplingParams) -> SamplingParams:
    """The repetition_penalty is applied twice."""
    return replace(params, repetition_penalty=params.repetition_penalty**2)


@sampling_fault("repetition-penalty-as-frequency", applies_to=has_parameters(*REPETITION))
def repetition_penalty_is_a_frequency_penalty(params: SamplingParams) -> SamplingParams:
    """The repetition_penalty is used as a frequency_penalty, so the prompt does not count."""
    if params.repetition_penalty == 1.0:
        return params
    return replace(params, repetition_penalty=1.0, frequency_penalty=params.repetition_penalty - 1.0)


@sampling_fault("min-tokens-let-the-end-pass", applies_to=has_parameters("min_tokens"))
def min_tokens_let_the_end_pass(params: SamplingParams) -> SamplingParams:
    """`min_tokens` delays stop strings and stop tokens, but not the model's own end."""
    return params if params.stop or params.stop_token_ids else replace(params, min_tokens=0)


def _count_prompt(prompt: list[int], params: SamplingParams) -> tuple[list[int], SamplingParams]:
    if not (params.presence_penalty or params.frequency_penalty):
        return prompt, params
    bias = dict(params.logit_bias)
    for token, count in Counter(prompt).items():
        bias[token] = bias.get(token, 0.0) - params.presence_penalty - count * params.frequency_penalty
    return prompt, replace(params, logit_bias=tuple(bias.items()))


penalties_count_the_prompt = engine_fault(
    "penalties-count-the-prompt",
    "`presence_penalty` and `frequency_penalty` also count the tokens of the prompt.",
    lambda: _count_prompt,
)


def _lacks_limit(sent: Json) -> bool:
    return not ({"max_tokens", "max_completion_tokens"} & set(sent))


def _limit(request: ServedRequest) -> None:
    request.payload["max_tokens"] = LIMIT


def _default(request: ServedRequest) -> None:
    for name, value in MODEL_DEFAULTS.items():
        if name in request.contract.parameters:
            request.payload.setdefault(name, value)


def _repeat_second(answer: Json, _request: ServedRequest) -> None:
    choices = list(choices_of(answer))
    for choice in choices[2:]:
        choice["message"] = choices[1]["message"]
        choice["finish_reason"] = choices[1]["finish_reason"]


no_limit_means_thirty_two = when(
    "no-limit-means-thirty-two", "Without max_tokens an answer ends after 32 tokens.", _lacks_limit, _limit
)
defaults_of_the_model = when(
    "defaults-of-the-model",
    "Without top_k and top_p, 20 and 0.8 are used, as the model's configuration recommends.",
    lambda sent: bool(sent.get("messages")),
    _default,
)
third_choice_repeats_the_second = hooked_fault(
    "third-choice-repeats-the-second",
    "Of several choices, the third and all further ones repeat the second.",
    answer=_repeat_second,
    applies_to=has_parameters("n"),
)
