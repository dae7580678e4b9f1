"""The number of slots and positions of the key-value cache, within a budget of memory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reference_server.engine.device import torch
from reference_server.engine.protocol import DEFAULT_SLOTS, CheckpointError

DEFAULT_POSITIONS: Final = 4096
FEWEST_SLOTS: Final = 4
FEWEST_POSITIONS: Final = 512
"""Defaults are not reduced below these numbers while the other one can be reduced."""
BUDGET_SHARE: Final = 0.5
"""Share of the memory that is free next to the weights that the cache may take, unless an amount is given."""
GIBIBYTE: Final = 2**30
MEMORY_FILE: Final = Path("/proc/meminfo")
CGROUP: Final = Path("/sys/fs/cgroup")

ROW_QUANTUM: Final = 4
CACHE_QUANTUM: Final = 64
SHORT_CONTEXT: Final = 128
LONG_CONTEXT_QUANTUM: Final = 512
"""Rows and positions are allocated in these quanta; `runner` says why."""


def count_rows(slots: int) -> int:
    """Return the number of rows of the cache: one for each slot, in whole quanta, without the row for padding."""
    return -(-slots // ROW_QUANTUM) * ROW_QUANTUM


def count_capacity(positions: int) -> int:
    """Return the number of positions of each row."""
    quantum = CACHE_QUANTUM if positions <= SHORT_CONTEXT else LONG_CONTEXT_QUANTUM
    return -(-positions // quantum) * quantum


@dataclass(frozen=True, slots=True)
class CachePlan:
    """Number of slots, positions of each, and bytes of the whole cache; None if its layers are not known."""

    slots: int
    positions: int
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class CacheBudget:
    """The memory of a cache.

    position_bytes: of the keys and values of one position in all layers.
    available_bytes: what the cache may take.
    """

    position_bytes: int
    available_bytes: int

    def size_bytes(self, slots: int, positions: int) -> int:
        """Return the size of the cache, including the row for padding."""
        return (count_rows(slots) + 1) * count_capacity(positions) * self.position_bytes

    def most_slots(self, positions: int) -> int:
        """Return the greatest number of slots that fit; 0 if none does."""
        rows = self.available_bytes // (count_capacity(positions) * self.position_bytes) - 1
        return max(0, rows // ROW_QUANTUM * ROW_QUANTUM)

    def most_positions(self, slots: int) -> int:
        """Return the greatest number of positions that fit; 0 if none does."""
        positions = self.available_bytes // ((count_rows(slots) + 1) * self.position_bytes)
        quantum = LONG_CONTEXT_QUANTUM if positions >= LONG_CONTEXT_QUANTUM else CACHE_QUANTUM
        positions = positions // quantum * quantum
        return positions if positions >= LONG_CONTEXT_QUANTUM else min(positions, SHORT_CONTEXT)


def plan_cache(budget: CacheBudget | None, slots: int | None, positions: int | None, limit: int) -> CachePlan:
    """Return the plan with the given numbers; those that are None have their default, or fewer if that does not fit.

    Slots are reduced first, then positions.

    budget: None: unknown, so everything fits.
    limit: of the checkpoint's positions.

    Raises CheckpointError if the given numbers do not fit; its message continues the name of the checkpoint and has
    numbers that fit.
    """
    wanted = min(limit, DEFAULT_POSITIONS) if positions is None else positions
    if budget is None:
        return CachePlan(DEFAULT_SLOTS if slots is None else slots, wanted, None)
    most = budget.most_slots(wanted)
    if positions is None:
        while wanted > FEWEST_POSITIONS and most < (FEWEST_SLOTS if slots is None else slots):
            wanted = max(FEWEST_POSITIONS, wanted // 2)
            most = budget.most_slots(wanted)
    chosen = min(DEFAULT_SLOTS, most) if slots is None else slots
    if chosen < 1 or budget.size_bytes(chosen, wanted) > budget.available_bytes:
        raise CheckpointError(_explain_refusal(budget, max(chosen, 1), wanted))
    return CachePlan(chosen, wanted, budget.size_bytes(chosen, wanted))


def _explain_refusal(budget: CacheBudget, slots: int, positions: int) -> str:
    size, available = (number / GIBIBYTE for number in (budget.size_bytes(slots, positions), budget.available_bytes))
    fitting = []
    if most := min(budget.most_slots(positions), slots):
        fitting.append(f"{most} slots of {positions} positions")
    if most := min(budget.most_positions(slots), positions):
        fitting.append(f"{slots} slots of {most} positions")
    advice = f"what fits is {' or '.join(fitting)}" if fitting else "free memory, or use a smaller checkpoint"
    return (
        f"does not fit into memory with a cache of {slots} slots of {positions} positions"
        f" ({size:.2f} GiB, and {available:.2f} GiB are available for it): {advice}"
    )


def require_weights_fit(weights_bytes: int, free_bytes: int) -> None:
    """Raise CheckpointError if the weights alone do not fit; its message continues the name of the checkpoint."""
    if weights_bytes > free_bytes:
        raise CheckpointError(
            f"does not fit into memory: its weights take {weights_bytes / GIBIBYTE:.2f} GiB, and"
            f" {free_bytes / GIBIBYTE:.2f} GiB are free: use a smaller checkpoint or another dtype"
        )


def find_free_bytes(device: torch.device) -> int | None:
    """Return how much memory of a device is free for this process; None if that is unknown.

    On a CPU with Linux, that is what the kernel estimates without swapping, or what the control group leaves.
    """
    if device.type != "cpu":
        try:
            return int(torch.accelerator.get_memory_info(device)[0])
        except (AttributeError, NotImplementedError, RuntimeError):  # a backend without this number
            return None
    try:
        lines = MEMORY_FILE.read_text().splitlines()
    except OSError:
        return _installed_bytes()
    available = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return min([*available, *_left_in_control_group()], default=None)


def _left_in_control_group() -> list[int]:
    try:
        limit, used = ((CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return [max(0, int(limit) - int(used))]
    except (OSError, ValueError):  # no control group, or one without a limit ("max")
        return []


def _installed_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
