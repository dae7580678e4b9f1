"""The opening of a checkpoint directory: how it is computed, what fits into memory, and a runner of its model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from reference_server.engine.device import torch
from reference_server.engine.model.accelerator.preparation import prepare_device
from reference_server.engine.model.allocator import keep_freed_memory
from reference_server.engine.model.cache_plan import (
    BUDGET_SHARE,
    CacheBudget,
    CachePlan,
    find_free_bytes,
    plan_cache,
    require_weights_fit,
)
from reference_server.engine.model.checkpoint import Checkpoint, load_checkpoint
from reference_server.engine.model.checkpoint_facts import CheckpointFacts, inspect_checkpoint
from reference_server.engine.model.dtype import DtypeChoice, choose_dtype
from reference_server.engine.model.verification import create_verified_runner
from reference_server.engine.protocol import CheckpointError

if TYPE_CHECKING:
    from pathlib import Path

    from reference_server.engine.model.model_runner import ModelRunner

SMALL_MODEL_PARAMETERS = 50_000_000


class OpenedCheckpoint(NamedTuple):
    """A loaded checkpoint, the runner of its model, the size of the runner's cache, and the data type."""

    checkpoint: Checkpoint
    runner: ModelRunner
    plan: CachePlan
    choice: DtypeChoice


def open_checkpoint(
    path: Path,
    place: torch.device,
    *,
    dtype: str,
    exact: bool,
    slots: int | None,
    max_model_len: int | None,
    cache_bytes: int | None,
    threads: int | None,
    warm_up_s: float,
) -> OpenedCheckpoint:
    """Load a checkpoint directory; what does not fit is refused before the weights are read.

    For the arguments see `LocalEngine.load`. Raises CheckpointError, and ValueError for an argument out of range.
    """
    facts = inspect_checkpoint(path)
    choice = choose_dtype(dtype, facts, place, exact=exact)

    def plan_for(known: CheckpointFacts | None, *, loaded: bool) -> CachePlan:
        budget = None if known is None else _find_budget(known, choice, place, cache_bytes, loaded=loaded)
        limit = sys.maxsize if known is None else known.position_limit
        if max_model_len is not None and not 2 <= max_model_len <= limit:
            raise ValueError(f"max_model_len is {max_model_len}: this checkpoint allows 2 to {limit}")
        return plan_cache(budget, slots, max_model_len, limit)

    try:
        plan_for(facts, loaded=False)
        read = load_checkpoint(path, place, choice.name)
        plan = plan_for(facts if facts and facts.layers else CheckpointFacts.of_model(read.model), loaded=True)
        runner = _create_runner(read, plan, exact=exact, threads=threads)
        read = read.with_probed_media(lambda prompt: _first_pass(runner, prompt))
        prepare_device(runner, warm_up_s)
    except CheckpointError as error:
        message = str(error)
        raise CheckpointError(message if message.startswith(str(path)) else f"{path} {message}") from error
    return OpenedCheckpoint(read, runner, plan, choice)


def _create_runner(read: Checkpoint, plan: CachePlan, *, exact: bool, threads: int | None) -> ModelRunner:
    small = read.model.num_parameters() < SMALL_MODEL_PARAMETERS
    if threads is not None or small:
        torch.set_num_threads(threads or 1)
    keep_freed_memory()
    sizes: dict[str, Any] = {"slots": plan.slots, "max_model_len": plan.positions}
    inputs = None if read.processor is None else read.processor.inputs
    return create_verified_runner(read.model, **sizes, exact=exact, traced=small or not exact, inputs=inputs)


def _find_budget(
    facts: CheckpointFacts, choice: DtypeChoice, device: torch.device, cache_bytes: int | None, *, loaded: bool
) -> CacheBudget | None:
    """Return the budget of the cache; None if the memory or the layers are not known.

    loaded: whether the weights are in memory already. Raises CheckpointError if they do not fit.
    """
    itemsize = (choice.dtype or facts.dtype or torch.float32).itemsize
    weights_bytes = 0 if loaded else facts.parameters * itemsize
    free_bytes = find_free_bytes(device)
    if free_bytes is not None:
        require_weights_fit(weights_bytes, free_bytes)
        cache_bytes = int(BUDGET_SHARE * (free_bytes - weights_bytes)) if cache_bytes is None else cache_bytes
    if facts.position_elements is None or cache_bytes is None:
        return None
    return CacheBudget(facts.position_elements * itemsize, cache_bytes)


def _first_pass(runner: ModelRunner, prompt: list[int]) -> torch.Tensor:
    """Return the logits after a prompt, and forget it."""
    with torch.inference_mode():
        logits = runner.prefill([prompt], [0])
        runner.clear([0])
        return logits
