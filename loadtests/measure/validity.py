"""Find reasons not to trust a measurement: a late load generator, for example, is measured as a slow server.

Does no I/O. Doubts come before objectives: with a doubt about it, an objective is neither met nor missed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from loadtests.measure.objectives import min_samples, percentile_share
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from loadtests.measure.objectives import Objective
    from loadtests.measure.tally import Tally

MAX_LAG_MS: Final = 5.0
MAX_COALESCED: Final = 0.01
MAX_CPU: Final = 0.9
MIN_CPU_S: Final = 1.0
"""Over less time the share of a core is meaningless: the start of a test, with its connections, takes a whole core."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason not to trust a measurement, with the limit and what to do.

    invalid: it affects the requested objectives; otherwise it is a note.
    """

    name: str
    text: str
    invalid: bool = True


def find_doubts(
    tally: Tally,
    objectives: Sequence[Objective],
    samples: Callable[[str], int],
    lag_p99_ms: float | None,
    cpu: float,
    cpu_over_s: float,
    *,
    planned: bool,
) -> list[Doubt]:
    """Return all reasons not to trust a measurement.

    samples: returns the number of values in a row. cpu: the busiest process's share of a core, over `cpu_over_s`
    seconds. planned: requests were sent at planned times. Reads with several events hide gaps, which affects only
    objectives for gaps.
    """
    doubts = []
    if lag_p99_ms is not None and lag_p99_ms > MAX_LAG_MS:
        text = f"requests were sent late: p99 {lag_p99_ms:.3g} ms, limit {MAX_LAG_MS:g} ms; use more --processes"
        doubts.append(Doubt("send-lag", text, planned))
    share = tally.coalesced_reads / tally.reads if tally.reads else 0.0
    if share > MAX_COALESCED:
        text = f"{share:.1%} of reads had several events, limit {MAX_COALESCED:.0%}: the gaps between them are unknown"
        doubts.append(Doubt("coalesced-reads", text, any(objective.name == "itl" for objective in objectives)))
    if cpu > MAX_CPU and cpu_over_s < MIN_CPU_S:
        text = (
            f"the test took {cpu_over_s:.2g} s, too short to tell whether the load generator was overloaded: "
            f"use at least {MIN_CPU_S:g} s"
        )
        doubts.append(Doubt("own-cpu", text, invalid=False))
    elif cpu > MAX_CPU:
        text = f"a process of the load generator used {cpu:.0%} of a core, limit {MAX_CPU:.0%}; use more --processes"
        doubts.append(Doubt("own-cpu", text))
    if tally.clock_steps:
        times = format_quantity(tally.clock_steps, "time")
        doubts.append(Doubt("clock-step", f"the wall clock was set {times} during the run"))
    if tally.dropped:
        dropped = format_quantity(tally.dropped, "request was", "requests were")
        text = f"{dropped} not sent because too many were in flight; increase --max-in-flight"
        doubts.append(Doubt("dropped", text))
    if tally.tokens_unknown:
        text = f"{format_quantity(tally.tokens_unknown, 'answer')} without usage: the events are counted as tokens"
        doubts.append(Doubt("no-usage", text, invalid=False))
    if tally.interrupted:
        cut = format_quantity(tally.interrupted, "answer was", "answers were")
        text = f"{cut} cut off when the test or the user ended: what had arrived is counted"
        doubts.append(Doubt("interrupted", text, invalid=False))
    for objective in objectives:
        if objective.row is not None and percentile_share(objective.which) is not None:
            needed, actual = min_samples(objective.which), samples(objective.row)
            if 0 < actual < needed:
                text = (
                    f"{objective.text}: {format_quantity(actual, 'value')}, but {objective.which} needs {needed}; "
                    "run longer or use a lower percentile"
                )
                doubts.append(Doubt("few-samples", text))
    return doubts
