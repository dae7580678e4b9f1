"""Blind faults of sampling: what ends with the first tokens of an answer, and a seed that another program reserves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.seventeenth.stages import StagedEngine
from reference_server.faults.decorators import has_parameters, sampling_fault
from reference_server.faults.fault import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract
    from reference_server.engine import SamplingParams
    from reference_server.faults.blind.seventeenth.stages import MakePlan, Plan

PREEMPTED: Final = 24
RESERVED: Final = 2**32 - 1


def _preempt(_prompt: list[int], params: SamplingParams) -> Plan | None:
    """Take the answer so far for a prompt. Violates the penalties: all of the text so far."""
    return (PREEMPTED, params, params) if params.presence_penalty or params.frequency_penalty else None


def _forget_biases(_prompt: list[int], params: SamplingParams) -> Plan | None:
    """Verify drafts without the biases. Violates logit_bias: each token."""
    return (1, params, replace(params, logit_bias=())) if params.logit_bias else None


def _forget_words(_prompt: list[int], params: SamplingParams) -> Plan | None:
    """Encode the words without the space in front of them. Violates bad_words: at any place."""
    return (1, params, replace(params, bad_words=())) if params.bad_words else None


def _staged(name: str, line: str, plan: MakePlan, applies_to: Callable[[Contract], bool]) -> Fault:
    return Fault(
        name,
        line,
        applies_to,
        lambda app, _contract: app,
        lambda engine: StagedEngine(engine, plan),  # delegates everything else to the engine
        affects="sampling",
    )


penalties_start_over_after_preemption = _staged(
    "penalties-start-over-after-preemption",
    "Presence and frequency penalties forget the first 24 tokens of an answer when it goes on.",
    _preempt,
    has_parameters("presence_penalty", "frequency_penalty"),
)
biases_end_after_the_first_token = _staged(
    "biases-end-after-the-first-token",
    "A logit_bias has an effect on the first token of an answer only.",
    _forget_biases,
    has_parameters("logit_bias"),
)
bad_words_banned_at_the_beginning_only = _staged(
    "bad-words-banned-at-the-beginning-only",
    "bad_words has an effect on the first token of an answer only.",
    _forget_words,
    has_parameters("bad_words"),
)


@sampling_fault("seeds-of-thirty-two-ones-are-random", applies_to=has_parameters("seed"))
def seeds_of_thirty_two_ones_are_random(params: SamplingParams) -> SamplingParams:
    """The seed 4294967295 means a random one."""
    # Violates seed: equal requests have equal answers, whatever its value.
    return replace(params, seed=None) if params.seed == RESERVED else params
