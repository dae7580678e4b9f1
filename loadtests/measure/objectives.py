"""Parse objectives such as `ttft_p95=300ms`, and decide whether measured values meet them. Does no I/O."""

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
    "upload": "UPLOAD",
    "ttft_uploaded": "TTFT after upload",
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
    """A bound for one measured value.

    which: a percentile such as "p95", "mean" or "max". limit: milliseconds for latencies, a share for `failures`,
    else per second. at_least: whether the limit is a minimum.
    """

    text: str
    name: str
    which: str
    limit: float
    at_least: bool

    def is_met(self, value: float | None) -> bool:
        """Return whether a measured value meets the objective; a value that was not measured does not."""
        if value is None:
            return False
        return value >= self.limit if self.at_least else value <= self.limit

    @property
    def row(self) -> str | None:
        """The row of the statistics that it limits, None for a share or a rate."""
        return ROWS.get(self.name)


def parse(text: str) -> Objective:
    """Parse one objective. Raise UsageError with an example."""
    match = FORM.fullmatch(text.strip().lower())
    if match is None:
        raise UsageError(f"--objective {text!r}: invalid objective: expected for example {EXAMPLE}")
    name, which, value, unit = match["name"], match["which"] or "", float(match["value"]), match["unit"]
    if name in ROWS:
        if unit not in UNITS_MS:
            raise UsageError(f"--objective {text!r}: invalid unit: expected us, ms or s, got {unit!r}")
        return Objective(text, name, which or "p99", value * UNITS_MS[unit], at_least=False)
    if which:
        raise UsageError(f"--objective {text!r}: {which} applies only to {', '.join(ROWS)}, not to {name}")
    if name == "failures" and unit in ("%", ""):
        share = value / 100 if unit else value
        if share > 1:
            raise UsageError(f"--objective {text!r}: invalid share: expected 0 to 1, or 0% to 100%")
        return Objective(text, name, "", share, at_least=False)
    if name in AT_LEAST and unit in ("/s", ""):
        return Objective(text, name, "", value, at_least=True)
    known = ", ".join([*ROWS, "failures", *AT_LEAST])
    raise UsageError(f"--objective {text!r}: expected one of {known} with its unit, for example {EXAMPLE}")


def percentile_share(which: str) -> float | None:
    """Return the share that a percentile names (0.95 for p95); None for mean and max."""
    return float(which[1:]) / 100 if which.startswith("p") else None


def min_samples(which: str) -> int:
    """Return how many samples a percentile needs: ten must be above it, or it is one of a few extreme values."""
    share = percentile_share(which)
    return 1 if share is None else round(10 / max(1e-6, 1 - share))


def make_goodput_check(objectives: tuple[Objective, ...]) -> Callable[[Mapping[str, float | None]], bool]:
    """Return a function that checks whether the latencies of one answer meet every objective, as goodput counts.

    An answer has one TTFT, TPOT and E2E; an objective for ITL is compared with its TPOT, the mean of its gaps.
    """
    bounds = [
        ("tpot" if objective.name == "itl" else objective.name, objective.limit)
        for objective in objectives
        if objective.row
    ]

    def is_good(latencies: Mapping[str, float | None]) -> bool:
        values = ((latencies.get(ROWS[name]), limit) for name, limit in bounds)
        return all(value is None or value <= limit for value, limit in values)

    return is_good
