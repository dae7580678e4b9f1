"""Blind faults of the effects of sampling parameters: converted, clamped or confused values."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import engine_fault, every, is_number, per_server
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of, sampling_fault
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

LEAST_SHARE: Final = 1e-6
NUCLEUS: Final = 0.7
GREATEST_SEED: Final = 65_535
FOREIGN: Final = "<unk>"


@sampling_fault("temperatures-truncated")
def temperatures_are_truncated(params: SamplingParams) -> SamplingParams:
    """The temperature is read as an integer, so 0.7 means 0 and 1.5 means 1."""
    return replace(params, temperature=float(math.trunc(params.temperature)))


@sampling_fault("top-p-truncated")
def top_p_is_truncated(params: SamplingParams) -> SamplingParams:
    """The top_p is read as an integer, so each value below 1 keeps one token."""
    return params if params.top_p >= 1 else replace(params, top_p=LEAST_SHARE)


@sampling_fault("nucleus-too-small")
def nucleus_is_too_small(params: SamplingParams) -> SamplingParams:
    """The nucleus of a top_p below 1 lacks the tokens of its last third."""
    return params if params.top_p >= 1 else replace(params, top_p=params.top_p * NUCLEUS)


@sampling_fault("seeds-clamped")
def seeds_are_clamped(params: SamplingParams) -> SamplingParams:
    """Seeds above 65,535 have the effect of 65,535."""
    return params if params.seed is None else replace(params, seed=min(params.seed, GREATEST_SEED))


@sampling_fault("presence-multiplies")
def presence_multiplies(params: SamplingParams) -> SamplingParams:
    """A presence_penalty is added to the repetition_penalty, which also counts the prompt."""
    if not params.presence_penalty:
        return params
    factor = max(0.1, params.repetition_penalty + params.presence_penalty / 2)
    return replace(params, presence_penalty=0.0, repetition_penalty=factor)


def _include_prompt(prompt: list[int], params: SamplingParams) -> tuple[list[int], SamplingParams]:
    if params.max_tokens is None:
        return prompt, params
    limit = max(1, params.max_tokens - len(prompt))
    return prompt, replace(params, max_tokens=limit, min_tokens=min(params.min_tokens, limit))


limit_includes_the_prompt = engine_fault(
    "limit-includes-the-prompt",
    "`max_tokens` limits the tokens of the prompt and the answer together.",
    lambda: _include_prompt,
)


def _lose_characters(response: Json, request: ServedRequest) -> None:
    for choice in choices_of(response) if request.payload.get("logit_bias") else ():
        said = message_of(choice)
        if isinstance(said.get("content"), str):
            said["content"] = "".join(text if text.isascii() else "\ufffd" for text in said["content"])


def _foreign_tokens() -> Hooks:
    is_due = every(4)

    def note(request: ServedRequest) -> None:
        sent = request.payload
        hot = not is_number(sent.get("temperature"), 0, 0) and not sent.get("logprobs")
        request.state["due"] = hot and is_number(sent.get("top_p"), 0.01, 0.999) and is_due()

    def change(response: Json, request: ServedRequest) -> None:
        for choice in choices_of(response) if request.state.get("due") else ():
            said = message_of(choice)
            if said.get("content"):
                request.state["due"] = False
                said["content"] = f"{said['content'][:-1]}{FOREIGN}"

    return Hooks(request=note, answer=change, chunk=change)


biased_answers_lose_characters = hooked_fault(
    "biased-answers-lose-characters",
    "In answers with a logit_bias, non-ASCII characters become U+FFFD.",
    answer=_lose_characters,
    chunk=_lose_characters,
    applies_to=has_parameters("logit_bias"),
)
nucleus_has_foreign_tokens = per_server(
    "nucleus-has-foreign-tokens",
    "One in four sampled answers with a top_p below 1 contains the token `<unk>`.",
    _foreign_tokens,
)
