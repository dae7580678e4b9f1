"""The plan of the cache: what is chosen fits, and a refusal names numbers that fit."""

from __future__ import annotations

import random
import re

import pytest

from reference_server.engine import CheckpointError
from reference_server.engine.model.cache_plan import (
    CacheBudget,
    CachePlan,
    plan_cache,
    require_weights_fit,
)
from reference_server.engine.protocol import DEFAULT_SLOTS

POSITION_BYTES = 114_688  # Qwen3-0.6B in bfloat16
CASES = [
    (generator.randrange(1, 2**34), generator.choice([None, 1, 3, 20, 64]), generator.choice([None, 2, 100, 700, 9000]))
    for generator in (random.Random(seed) for seed in range(300))
]


def test_every_plan_fits_and_every_refusal_names_numbers_that_fit() -> None:
    outcomes = set()
    for available, slots, positions in CASES:
        budget = CacheBudget(POSITION_BYTES, available)
        try:
            plan = plan_cache(budget, slots, positions, 40_960)
        except CheckpointError as error:
            numbers = re.findall(r"(\d+) slots of (\d+) positions", str(error).partition("what fits is")[2])
            outcomes.add("refused with advice" if numbers else "refused")
            for fitting_slots, fitting_positions in numbers:
                again = plan_cache(budget, int(fitting_slots), int(fitting_positions), 40_960)
                assert (int(fitting_slots), int(fitting_positions)) == (again.slots, again.positions)
            continue
        outcomes.add("planned")
        assert budget.size_bytes(plan.slots, plan.positions) == plan.size_bytes
        assert budget.size_bytes(plan.slots, plan.positions) <= available
        assert plan.slots == slots or slots is None
        assert plan.positions == positions or positions is None
    assert outcomes == {"planned", "refused", "refused with advice"}


def test_without_options_slots_are_reduced_before_positions() -> None:
    def plan(gibibytes: float) -> tuple[int, int]:
        planned = plan_cache(CacheBudget(POSITION_BYTES, int(gibibytes * 2**30)), None, None, 40_960)
        return planned.slots, planned.positions

    assert [(20, 4096), (16, 4096), (8, 2048), (4, 512)] == [plan(size) for size in (10, 8, 2, 0.3)]


def test_an_unknown_budget_fits_everything() -> None:
    assert CachePlan(DEFAULT_SLOTS, 512, None) == plan_cache(None, None, None, 512)


def test_weights_that_do_not_fit_are_refused_with_both_sizes() -> None:
    require_weights_fit(2**30, 2**30)
    with pytest.raises(CheckpointError, match=r"its weights take 3\.00 GiB, and 1\.00 GiB are free"):
        require_weights_fit(3 * 2**30, 2**30)
