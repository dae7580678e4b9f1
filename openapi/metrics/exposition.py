"""Write metrics in the text format of Prometheus (0.0.4), and in OpenMetrics 1.0.

https://prometheus.io/docs/instrumenting/exposition_formats/ and https://github.com/prometheus/OpenMetrics describe the
formats. They differ in the names of counters and in the last line.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

PROMETHEUS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS_TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
Kind = Literal["counter", "gauge", "histogram"]


class HistogramCounts:
    """Counts of values by upper bound, and their sum. `bounds` ascend; values above the last one are counted, too."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    def cumulative(self) -> Iterator[tuple[float, int]]:
        """Yield each upper bound with the number of values up to it; the last bound is infinite."""
        total = 0
        for bound, count in zip((*self.bounds, math.inf), self.counts, strict=True):
            total += count
            yield bound, total


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """A metric: its name without `_total`, its kind, what it means, and its values by labels."""

    name: str
    kind: Kind
    help: str
    values: Sequence[tuple[Mapping[str, str], float | HistogramCounts]]


def write_metrics(families: Iterable[MetricFamily], *, openmetrics: bool = False) -> str:
    """Return the metrics as text."""
    lines: list[str] = []
    for family in families:
        name = f"{family.name}_total" if family.kind == "counter" and not openmetrics else family.name
        lines += [f"# HELP {name} {_escape_help(family.help)}", f"# TYPE {name} {family.kind}"]
        for labels, value in family.values:
            lines += _samples(family, labels, value)
    if openmetrics:
        lines.append("# EOF")
    return "\n".join(lines) + "\n"


def _samples(family: MetricFamily, labels: Mapping[str, str], value: float | HistogramCounts) -> Iterator[str]:
    if isinstance(value, HistogramCounts):
        total = 0
        for bound, total in value.cumulative():
            yield f"{family.name}_bucket{_format_labels({**labels, 'le': _format(bound)})} {total}"
        yield f"{family.name}_sum{_format_labels(labels)} {_format(value.sum)}"
        yield f"{family.name}_count{_format_labels(labels)} {total}"
    else:
        suffix = "_total" if family.kind == "counter" else ""
        yield f"{family.name}{suffix}{_format_labels(labels)} {_format(value)}"


def _format_labels(labels: Mapping[str, str]) -> str:
    pairs = ",".join(f'{name}="{_escape(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escape(text: str) -> str:
    return _escape_help(text).replace('"', '\\"')


def _escape_help(text: str) -> str:
    """Return a string on one line, without characters that control a terminal or cannot be encoded."""
    printable = CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
    return printable.replace("\\", "\\\\").replace("\n", "\\n")


def _format(value: float) -> str:
    return "+Inf" if value == math.inf else repr(float(value))
