"""Turn the results of a load test into metrics: as OpenMetrics for Prometheus, and as OTLP for OpenTelemetry.

Times are seconds, as the conventions of both demand. Counts of a bucket come from values of three significant digits.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from openapi.metrics.exposition import HistogramCounts, MetricFamily, write_metrics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PREFIX: Final = "chatproof_load"
BOUNDS_S: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0),
    *(20.0, 40.0, 80.0, 160.0),
)
HISTOGRAMS: Final = {
    "TTFT": ("time_to_first_token_seconds", "From sending a request to its first event with content."),
    "ITL": ("inter_token_latency_seconds", "Between two consecutive events with content."),
    "TPOT": ("time_per_output_token_seconds", "Mean time per token of an answer after the first one."),
    "E2E": ("e2e_latency_seconds", "From sending a request to the end of its answer."),
}
DELTA: Final = 1
"""The AggregationTemporality of OTLP for counts of one test alone."""


def list_metrics(results: Mapping[str, Any]) -> Iterator[MetricFamily]:
    """Yield the metrics of a load test."""
    target, counts = results["target"], results["counts"]
    labels = {"url": target["url"], "dialect": target["dialect"], "model": target["model"]}
    failed = counts["failures"]

    def counter(name: str, text: str, value: float) -> MetricFamily:
        return MetricFamily(f"{PREFIX}_{name}", "counter", text, [(labels, value)])

    def gauge(name: str, text: str, value: float) -> MetricFamily:
        return MetricFamily(f"{PREFIX}_{name}", "gauge", text, [(labels, value)])

    yield MetricFamily(
        f"{PREFIX}_requests",
        "counter",
        "Requests of the measured time, by outcome.",
        [
            ({**labels, "outcome": "answered"}, counts["requests"] - failed),
            ({**labels, "outcome": "failed"}, failed),
            ({**labels, "outcome": "dropped"}, counts["dropped"]),
        ],
    )
    yield MetricFamily(
        f"{PREFIX}_failures",
        "counter",
        "Failed requests, by kind.",
        [({**labels, "kind": item["kind"]}, item["count"]) for item in results["failures"]],
    )
    yield counter("output_tokens", "Tokens of all answers.", counts["tokens"])
    yield gauge("measured_seconds", "Duration of the measurement.", results["load"]["measured_s"])
    for name, text in (("requests", "Answers"), ("tokens", "Tokens"), ("goodput", "Answers that met every objective")):
        if (rate := results["rates_per_s"][name]) is not None:
            yield gauge(f"{name}_per_second", f"{text} per second.", rate)
    yield MetricFamily(
        f"{PREFIX}_objective_met",
        "gauge",
        "Whether an objective was met (1) or not (0).",
        [({**labels, "objective": item["objective"]}, float(item["met"])) for item in results["objectives"]],
    )
    yield gauge("exit_code", "Exit code of the load test.", results["exit_code"])
    for row, (name, text) in HISTOGRAMS.items():
        if row in results["latencies_ms"]:
            counted = _count(results["latencies_ms"][row])
            yield MetricFamily(f"{PREFIX}_{name}", "histogram", text, [(labels, counted)])


def _count(latency: Mapping[str, Any]) -> HistogramCounts:
    counted = HistogramCounts(BOUNDS_S)
    for value_ms, count in latency["buckets"]:
        counted.observe(value_ms / 1000, count)
    counted.sum = latency["mean"] * latency["count"] / 1000  # exact, unlike the sum of rounded values
    return counted


def write_openmetrics(results: Mapping[str, Any]) -> str:
    """Return the metrics in the text format of OpenMetrics."""
    return write_metrics(list_metrics(results), openmetrics=True)


def write_otlp(results: Mapping[str, Any], now: datetime | None = None) -> str:
    """Return the metrics as a request of OTLP/HTTP in JSON, for the path /v1/metrics of a collector."""
    moment = str(int((now or datetime.now(UTC)).timestamp() * 1e9))
    resource = {"service.name": "chatproof-load", "service.version": results["tool"]["version"]}
    scope = {"name": "chatproof", "version": results["tool"]["version"]}
    metrics = [_metric(family, moment) for family in list_metrics(results) if family.values]
    content = {
        "resource": {"attributes": _attributes(resource)},
        "scopeMetrics": [{"scope": scope, "metrics": metrics}],
    }
    return json.dumps({"resourceMetrics": [content]}) + "\n"


def _metric(family: MetricFamily, moment: str) -> dict[str, Any]:
    points = []
    for labels, value in family.values:
        point: dict[str, Any] = {"attributes": _attributes(labels), "timeUnixNano": moment}
        if isinstance(value, HistogramCounts):
            point |= {
                "count": str(sum(value.counts)),
                "sum": value.sum,
                "bucketCounts": [str(count) for count in value.counts],
                "explicitBounds": list(value.bounds),
            }
        else:
            point["asDouble"] = float(value)
        points.append(point)
    described = {"name": family.name, "description": family.help, "unit": "s" if family.kind == "histogram" else "1"}
    if family.kind == "gauge":
        return {**described, "gauge": {"dataPoints": points}}
    if family.kind == "counter":
        total = {"dataPoints": points, "aggregationTemporality": DELTA, "isMonotonic": True}
        return {**described, "sum": total}
    return {**described, "histogram": {"dataPoints": points, "aggregationTemporality": DELTA}}


def _attributes(labels: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": name, "value": {"stringValue": value}} for name, value in labels.items()]
