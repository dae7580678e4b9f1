"""Blind faults of the cache of prompts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import engine_fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.blind.recipes import EngineEdit

SEEDS: Final = 2**31


def _move_seeds() -> EngineEdit:
    seen: Counter[tuple[tuple[int, ...], int]] = Counter()

    def edit(prompt: list[int], params: SamplingParams) -> tuple[list[int], SamplingParams]:
        if params.seed is None or params.temperature == 0 or params.beam_search:
            return prompt, params
        key = (tuple(prompt), params.seed)
        seen[key] += 1
        return prompt, replace(params, seed=(params.seed + seen[key] - 1) % SEEDS)

    return edit


seeds_move_on_with_cached_prompts = engine_fault(
    "seeds-move-on-with-cached-prompts",
    "The random numbers of a seed are not started anew for a prompt that is in the cache.",
    _move_seeds,
)
