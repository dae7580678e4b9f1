"""The input of a report: what was to be measured, and what was measured. Does no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loadtests.measure.abort_limits import Aborted
    from loadtests.measure.objectives import Objective
    from loadtests.measure.tally import Tally

Buckets = list[tuple[float, int]]


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """What was to be measured: the target, the load and the objectives.

    users: of a closed loop. trace_at_s: when the requests of a trace are sent. secrets: values that no report may show.
    """

    url: str
    dialect: str
    model: str
    open_loop: bool
    users: int
    rate_per_s: float | None
    process: str
    shape: str
    seed: int
    warm_up_s: float
    seconds: float
    max_failures: float
    objectives: tuple[Objective, ...] = ()
    trace_at_s: tuple[float, ...] = ()
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured.

    rows: the buckets of each latency. extremes: its least, greatest and sum. cpu: the busiest process's share of a
    core. warm_up_failures: the first detail of each kind of failure in the warm-up. lost_workers: the number of
    workers that no longer reported. interrupted: whether a signal ended the test before its time was up.
    """

    tally: Tally
    rows: Mapping[str, Buckets] = field(default_factory=dict)
    extremes: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    cpu: float = 0.0
    measured_s: float = 0.0
    warm_up_failures: Mapping[str, str] = field(default_factory=dict)
    lost_workers: int = 0
    aborted: Aborted | None = None
    interrupted: bool = False
