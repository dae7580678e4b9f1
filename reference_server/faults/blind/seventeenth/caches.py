"""Blind faults of the prompt cache: what the second request with a prompt loses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import engine_fault
from reference_server.faults.blind.seventeenth.stages import StagedEngine
from reference_server.faults.decorators import has_parameters
from reference_server.faults.fault import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine import SamplingParams
    from reference_server.faults.blind.recipes import EngineEdit
    from reference_server.faults.blind.seventeenth.stages import MakePlan, Plan

BLOCK: Final = 16
HOTTEST: Final = 100.0


def _remember() -> Callable[[list[int]], bool]:
    """Return a function that tells whether it was called with a prompt before."""
    seen: set[tuple[int, ...]] = set()

    def is_known(prompt: list[int]) -> bool:
        key = tuple(prompt)
        known = key in seen
        seen.add(key)
        return known

    return is_known


def _lose_penalties() -> EngineEdit:
    """Count what was computed. Violates repetition_penalty: the tokens of the prompt too."""
    is_known = _remember()

    def edit(prompt: list[int], params: SamplingParams) -> tuple[list[int], SamplingParams]:
        return prompt, replace(params, repetition_penalty=1.0) if is_known(prompt) else params

    return edit


def _run_last_token_twice() -> EngineEdit:
    """Need a token to compute. Violates messages: the prompt, once."""
    is_known = _remember()

    def edit(prompt: list[int], params: SamplingParams) -> tuple[list[int], SamplingParams]:
        whole = getattr(prompt, "named", ()) or params.includes_prompt or params.truncate_prompt_tokens
        return ([*prompt, prompt[-1]], params) if is_known(prompt) and not whole else (prompt, params)

    return edit


def _spoil_first_tokens() -> MakePlan:
    """Compute a single token by another program. Violates content: the answer to the messages."""
    is_known = _remember()

    def plan(prompt: list[int], params: SamplingParams) -> Plan | None:
        if not is_known(prompt) or len(prompt) % BLOCK != 1:
            return None
        flat = replace(params, temperature=HOTTEST, seed=None, top_k=0, top_p=1.0, min_p=0.0)
        return 1, flat, params

    return plan


repetition_penalties_lost_on_hits = engine_fault(
    "repetition-penalties-lost-on-hits",
    "A repetition_penalty has no effect if the server has had the prompt before.",
    _lose_penalties,
    applies_to=has_parameters("repetition_penalty"),
    affects="sampling",
)
last_tokens_of_known_prompts_run_twice = engine_fault(
    "last-tokens-of-known-prompts-run-twice",
    "If the server has had a prompt before, its last token reaches the model twice.",
    _run_last_token_twice,
    counts_original=True,
    affects="sampling",
)
first_tokens_wrong_one_past_a_block = Fault(
    "first-tokens-wrong-one-past-a-block",
    "The first token of an answer is any token if the server has had the prompt before, and if the prompt is one token "
    "longer than whole blocks of 16.",
    lambda _contract: True,
    lambda app, _contract: app,
    lambda engine: StagedEngine(engine, _spoil_first_tokens()),  # delegates everything else to the engine
    affects="sampling",
)
