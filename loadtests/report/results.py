"""Build results.json, the file from which reports and comparisons are made. Does no I/O.

`schema_version` is 1; the JSON Schema is `loadtests/results.schema.json`. Latencies are milliseconds; `buckets` are
[value, count] pairs with values of three significant digits.
"""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from loadtests.measure.latency import DEFINITIONS
from loadtests.measure.objectives import percentile_share
from loadtests.measure.validity import Doubt, find_doubts
from loadtests.secret import redact
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loadtests.measure.objectives import Objective
    from loadtests.measure.tally import Tally
    from loadtests.report.measurement import Buckets, LoadPlan, Measurement

SCHEMA_VERSION: Final = 1
PERCENTILES: Final = (50, 90, 95, 99, 99.9)
MET, FAILURES, USAGE, MISSED, INVALID, INTERNAL_ERROR = range(6)
INTERRUPTED: Final = 130  # 128 + SIGINT, as shells report it
"""Exit codes, in the order of the README's table."""


def build_results(plan: LoadPlan, measured: Measurement) -> dict[str, Any]:
    """Build the content of results.json."""
    tally, measured_s, aborted = measured.tally, measured.measured_s, measured.aborted
    latencies = {
        name: _summarize(measured.rows[name], *measured.extremes[name])
        for name in DEFINITIONS
        if measured.rows.get(name)
    }
    counted = list(tally.seconds.items())  # copied, as a thread may build the results while the test runs
    window = [second for at, second in counted if at < measured_s]  # without answers that ended after the test
    rates = {
        "requests": _rate(sum(second.answers - second.failures for second in window), measured_s),
        "tokens": _rate(sum(second.tokens for second in window), measured_s),
        "goodput": _rate(sum(second.good for second in window), measured_s),
    }
    failed = tally.failures / tally.requests if tally.requests else None
    verdicts = [_judge_objective(objective, latencies, rates, failed) for objective in plan.objectives]
    doubts = _find_doubts(plan, measured, latencies)
    code = exit_code(tally, plan.max_failures, verdicts, any(doubt.invalid for doubt in doubts))
    if aborted is not None:
        code = FAILURES
    if measured.interrupted:
        code = INTERRUPTED
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "chatproof", "version": version("chatproof")},
        "target": {"url": plan.url, "dialect": plan.dialect, "model": plan.model},
        "load": {
            "loop": "open" if plan.open_loop else "closed",
            "users": None if plan.open_loop else plan.users,
            "rate_per_s": plan.rate_per_s,
            "arrivals": "trace" if plan.trace_at_s else plan.process if plan.open_loop else None,
            "shape": plan.shape,
            "seed": plan.seed,
            "warm_up_s": plan.warm_up_s,
            "planned_s": plan.seconds,
            "measured_s": round(measured_s, 3),
        },
        "counts": {
            "requests": tally.requests,
            "failures": tally.failures,
            "dropped": tally.dropped,
            "interrupted": tally.interrupted,
            "good": tally.good,
            "tokens": tally.tokens,
            "tokens_counted_by_events": tally.tokens_unknown,
            "content_events": tally.events,
            "events_per_token": _ratio(tally.events, tally.tokens),
            "reads": tally.reads,
            "reads_with_several_events": tally.coalesced_reads,
            "reads_that_waited": tally.waited_reads,
        },
        "rates_per_s": rates,
        "failures": [
            {"kind": kind, "count": count, "first": redact(tally.details.get(kind, ""), plan.secrets)}
            for kind, count in sorted(tally.kinds.items(), key=_by_count)
        ],
        "conformance": {
            "streams_judged": tally.sampled,
            "findings": [
                {"rule": rule, "count": count, "first": redact(tally.finding_details.get(rule, ""), plan.secrets)}
                for rule, count in sorted(tally.findings.items(), key=_by_count)
            ],
        },
        "latencies_ms": latencies,
        "definitions": dict(DEFINITIONS),
        "objectives": verdicts,
        "doubts": [{"name": doubt.name, "text": doubt.text, "invalid": doubt.invalid} for doubt in doubts],
        "own_cpu": round(measured.cpu, 3),
        "seconds": [
            {
                "at_s": at,
                "sent": second.sent,
                "answers": second.answers,
                "failures": second.failures,
                "good": second.good,
                "tokens": second.tokens,
                "ttft_ms": sorted(second.ttft_ms.items()),
                "gap_ms": sorted(second.gap_ms.items()),
            }
            for at, second in sorted(tally.seconds.items())
        ],
        "worst_streams": tally.worst,
        "given_up": None if aborted is None else asdict(aborted),
        "exit_code": code,
    }


def _find_doubts(plan: LoadPlan, measured: Measurement, latencies: Mapping[str, Any]) -> list[Doubt]:
    doubts = find_doubts(
        measured.tally,
        plan.objectives,
        lambda row: latencies.get(row, {}).get("count", 0),
        latencies.get("SEND LAG", {}).get("percentiles", {}).get("99"),
        measured.cpu,
        plan.warm_up_s + measured.measured_s,
        planned=plan.open_loop,
    )
    if measured.lost_workers:
        text = (
            f"workers lost during the test: {measured.lost_workers}; what they had not reported is missing, and so may "
            "be the requests that they had to send"
        )
        doubts.append(Doubt("lost-workers", text))
    late = sum(at_s > plan.warm_up_s + plan.seconds for at_s in plan.trace_at_s)
    if late:
        number = format_quantity(len(plan.trace_at_s), "request")
        text = (
            f"{late} of {number} of the trace {'is' if late == 1 else 'are'} after the end of the test; increase --time"
        )
        doubts.append(Doubt("trace", text, invalid=False))
    doubts += [
        Doubt("warm-up", f"failed in the warm-up: {kind}: {redact(detail, plan.secrets)}", invalid=False)
        for kind, detail in sorted(measured.warm_up_failures.items())
    ]
    return doubts


def exit_code(tally: Tally, max_failures: float, verdicts: list[dict[str, Any]], doubted: bool) -> int:
    """Return the exit code.

    Failures come first, since what failed was not measured; then doubts, since an objective in doubt is neither met nor
    missed; then objectives.
    """
    if not tally.requests or tally.failures > max_failures * tally.requests or tally.findings:
        return FAILURES
    if doubted:
        return INVALID
    return MET if all(verdict["met"] for verdict in verdicts) else MISSED


def describe_load(load: Mapping[str, Any]) -> str:
    """Describe what sends requests: users that wait for their answers, or a process of arrivals, and at which rate."""
    closed = load["loop"] == "closed"
    sender = format_quantity(load["users"], "user") if closed else f"{load['arrivals']} arrivals"
    return f"{sender} at {load['rate_per_s']:g}/s" if load["rate_per_s"] else sender


def describe_failures(counts: Mapping[str, Any]) -> str:
    """Return how many of the measured requests failed."""
    return f"{counts['failures']:,} of {format_quantity(counts['requests'], 'request')} failed"


def describe_verdict(results: Mapping[str, Any]) -> str:
    """Describe the exit code in words."""
    code, counts = results["exit_code"], results["counts"]
    if code == INTERRUPTED:
        load = results["load"]
        return f"interrupted after {load['measured_s']:.3g} of {load['planned_s']:g} s; the figures are of this time"
    if aborted := results.get("given_up"):
        after = f"aborted after {aborted['at_s']:.3g} of {results['load']['planned_s']:g} s ({aborted['limit']})"
        return f"{after}: {describe_verdict({**results, 'given_up': None})}"
    if code == FAILURES:
        if not counts["requests"]:
            return "no request was measured"
        kinds = [(failure["kind"], failure["count"]) for failure in results["failures"]]
        if kinds == [("connect", counts["requests"])]:
            return f"cannot connect to {results['target']['url']}: {results['failures'][0]['first']}"
        failed = [describe_failures(counts)] if counts["failures"] else []
        broken = ["streams violated the contract's rules"] if results["conformance"]["findings"] else []
        return " and ".join([*failed, *broken])
    if code == MET and not results["objectives"]:
        return "nothing failed; no objective was given"
    return {MET: "objectives met", MISSED: "an objective was missed", INVALID: "the measurement cannot be trusted"}[
        code
    ]


def quantile(buckets: Buckets, share: float) -> float | None:
    """Return the least bucket that at least this share of the values does not exceed."""
    total = sum(count for _, count in buckets)
    below = 0
    for value, count in sorted(buckets):
        below += count
        if below >= share * total:
            return value
    return None


def _by_count(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def _summarize(buckets: Buckets, least: float, greatest: float, total: float) -> dict[str, Any]:
    count = sum(number for _, number in buckets)
    return {
        "count": count,
        "mean": round(total / count, 4),
        "min": round(least, 4),
        "max": round(greatest, 4),
        "percentiles": {f"{percentile:g}": quantile(buckets, percentile / 100) for percentile in PERCENTILES},
        "buckets": sorted(buckets),
    }


def _judge_objective(
    objective: Objective, latencies: Mapping[str, Any], rates: Mapping[str, float | None], failed: float | None
) -> dict[str, Any]:
    value: float | None
    if objective.row is None:
        value = failed if objective.name == "failures" else rates[objective.name]
    else:
        row = latencies.get(objective.row)
        share = percentile_share(objective.which)
        if row is None:
            value = None
        elif share is None:
            value = row[objective.which]
        else:
            value = quantile(row["buckets"], share)
    return {"objective": objective.text, "limit": objective.limit, "value": value, "met": objective.is_met(value)}


def _rate(count: int, seconds: float) -> float | None:
    return round(count / seconds, 3) if seconds > 0 else None


def _ratio(one: int, other: int) -> float | None:
    return round(one / other, 4) if other else None
