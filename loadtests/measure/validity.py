"""Validity: whether the measurement itself can be trusted. A load generator that is late blames the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from loadtests.measure.objectives import percent, samples_needed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from loadtests.measure.objectives import Objective
    from loadtests.measure.tally import Tally

LAG_MS: Final = 5.0
COALESCED: Final = 0.01
CPU: Final = 0.9
CPU_S: Final = 1.0
"""Over less time a share of a core says nothing: what begins a test, connections and first answers, takes one whole."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """One reason not to trust a measurement: what was seen, the bound, and what to do. `invalid`: it touches what was
    asked for; else it is a note."""

    name: str
    text: str
    invalid: bool = True


def doubts(
    tally: Tally,
    objectives: Sequence[Objective],
    samples: Callable[[str], int],
    lag_p99_ms: float | None,
    cpu: float,
    cpu_over_s: float,
    *,
    planned: bool,
) -> list[Doubt]:
    """Everything that speaks against a measurement.

    `samples`: how many values a row holds. `cpu`: the busiest process's share of a core, over how many seconds.
    `planned`: requests had times to leave at. Reads with several events hide gaps, which only a bound on gaps depends
    on.
    """
    found = []
    if lag_p99_ms is not None and lag_p99_ms > LAG_MS:
        text = f"requests left late: p99 {lag_p99_ms:.3g} ms, more than {LAG_MS:g} ms; use more --processes"
        found.append(Doubt("send-lag", text, planned))
    share = tally.coalesced_reads / tally.reads if tally.reads else 0.0
    if share > COALESCED:
        text = f"{share:.1%} of reads held several events, more than {COALESCED:.0%}: gaps between them are not seen"
        found.append(Doubt("coalesced-reads", text, any(objective.name == "itl" for objective in objectives)))
    if cpu > CPU and cpu_over_s < CPU_S:
        text = (
            f"the test took {cpu_over_s:.2g} s, too short to tell whether the load generator was busy: {CPU_S:g} s do"
        )
        found.append(Doubt("own-cpu", text, invalid=False))
    elif cpu > CPU:
        text = f"a process of the load generator used {cpu:.0%} of a core, more than {CPU:.0%}; use more --processes"
        found.append(Doubt("own-cpu", text))
    if tally.clock_steps:
        found.append(Doubt("clock-step", f"the wall clock was set {tally.clock_steps} times during the run"))
    if tally.dropped:
        text = f"{tally.dropped} requests were not sent because too many were in flight; raise --max-in-flight"
        found.append(Doubt("dropped", text))
    if tally.tokens_unknown:
        text = f"{tally.tokens_unknown} answers had no usage: their events are counted for tokens"
        found.append(Doubt("no-usage", text, invalid=False))
    if tally.interrupted:
        text = f"{tally.interrupted} answers were given up on their way: their tokens and gaps so far are counted"
        found.append(Doubt("interrupted", text, invalid=False))
    for objective in objectives:
        if objective.row is not None and percent(objective.which) is not None:
            needed, there = samples_needed(objective.which), samples(objective.row)
            if 0 < there < needed:
                text = f"{objective.text}: {there} values, {objective.which} needs {needed}; run longer or ask for a lower one"
                found.append(Doubt("few-samples", text))
    return found
