"""Objectives: what a deployment must reach, as `ttft_p95=300ms`, and whether it did."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from loadtests.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROWS: Final[Mapping[str, str]] = {
    "ttft": "TTFT",
    "itl": "ITL",
    "tpot": "TPOT",
    "e2e": "E2E",
    "ttft_planned": "TTFT planned",
    "e2e_planned": "E2E planned",
    "connect": "CONNECT",
    "send_lag": "SEND LAG",
}
AT_LEAST: Final[Mapping[str, str]] = {"goodput": "/s", "requests": "/s", "tokens": "/s"}
UNITS_MS: Final[Mapping[str, float]] = {"us": 1e-3, "ms": 1.0, "s": 1e3, "": 1.0}
FORM: Final = re.compile(
    r"(?P<name>[a-z0-9_]+?)(?:_(?P<which>p\d{1,2}(?:\.\d+)?|mean|max))?\s*=\s*(?P<value>\d+(?:\.\d+)?)\s*(?P<unit>[a-z/%]*)"
)
EXAMPLE: Final = "ttft_p95=300ms, itl_p99=40ms, e2e_max=30s, failures=1%, goodput=5/s"


@dataclass(frozen=True, slots=True)
class Objective:
    """One bound. `which`: a percentile as a number of percent, "mean" or "max"; latencies are in milliseconds,
    `failures` a share, the others per second. `at_least` tells the direction."""

    text: str
    name: str
    which: str
    limit: float
    at_least: bool

    def holds(self, value: float | None) -> bool:
        """Whether a measured value reaches it. What was not measured did not."""
        if value is None:
            return False
        return value >= self.limit if self.at_least else value <= self.limit

    @property
    def row(self) -> str | None:
        """The row of the statistics that it bounds, None for a share or a rate."""
        return ROWS.get(self.name)


def parse(text: str) -> Objective:
    """Reads one objective. Raises UsageError that shows the form."""
    found = FORM.fullmatch(text.strip().lower())
    if found is None:
        raise UsageError(f"--objective {text!r} cannot be read; write for example {EXAMPLE}")
    name, which, value, unit = found["name"], found["which"] or "", float(found["value"]), found["unit"]
    if name in ROWS:
        if unit not in UNITS_MS:
            raise UsageError(f"--objective {text!r}: {unit!r} is no unit of time; write us, ms or s")
        return Objective(text, name, which or "p99", value * UNITS_MS[unit], at_least=False)
    if which:
        raise UsageError(f"--objective {text!r}: {name} has no {which}; with percentiles there are {', '.join(ROWS)}")
    if name == "failures" and unit in ("%", ""):
        share = value / 100 if unit else value
        if share > 1:
            raise UsageError(f"--objective {text!r}: no more than all can fail; write a share to 1, or percent")
        return Objective(text, name, "", share, at_least=False)
    if name in AT_LEAST and unit in ("/s", ""):
        return Objective(text, name, "", value, at_least=True)
    known = ", ".join([*ROWS, "failures", *AT_LEAST])
    raise UsageError(f"--objective {text!r}: write one of {known} with its unit, for example {EXAMPLE}")


def percent(which: str) -> float | None:
    """The share that a percentile names (p95: 0.95); None for mean and max."""
    return float(which[1:]) / 100 if which.startswith("p") else None


def samples_needed(which: str) -> int:
    """Below so many samples a percentile is one of the few largest values and says little: ten must lie above it."""
    share = percent(which)
    return 1 if share is None else round(10 / max(1e-6, 1 - share))


def met_by(objectives: tuple[Objective, ...]) -> Callable[[Mapping[str, float | None]], bool]:
    """Whether one answer's own latencies stay within every bound: what goodput counts.

    An answer has one TTFT, TPOT and E2E; a bound on ITL is held against its TPOT, the mean of its gaps.
    """
    bounds = [
        ("tpot" if objective.name == "itl" else objective.name, objective.limit)
        for objective in objectives
        if objective.row
    ]

    def met(latencies: Mapping[str, float | None]) -> bool:
        values = ((latencies.get(ROWS[name]), limit) for name, limit in bounds)
        return all(value is None or value <= limit for value, limit in values)

    return met
