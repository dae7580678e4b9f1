"""results.json of a load test: the one file that reports and comparisons are made from. Pure.

`schema_version` 1; its JSON Schema is `results.schema.json` beside this module. Latencies are
milliseconds; `buckets` are [value, count] pairs of three significant digits.
"""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from loadtests.measure.latency import DEFINITIONS
from loadtests.measure.objectives import percent
from loadtests.measure.validity import Doubt, doubts
from loadtests.secret import hidden

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loadtests.measure.abort_limits import GivenUp
    from loadtests.measure.objectives import Objective
    from loadtests.measure.tally import Tally
    from loadtests.run.settings import Settings

SCHEMA_VERSION: Final = 1
PERCENTILES: Final = (50, 90, 95, 99, 99.9)
MET, FAILURES, USAGE, MISSED, INVALID, OWN_ERROR = range(6)
"""Exit codes, in the order of the README's table."""

Buckets = list[tuple[float, int]]


def build(
    settings: Settings, tally: Tally, rows: Mapping[str, Buckets], extremes: Mapping[str, tuple[float, float, float]],
    cpu: float, measured_s: float, cold: Mapping[str, str],
    lost: int = 0, given_up: GivenUp | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The whole document. `rows`: the buckets of each latency; `extremes`: its least, greatest and sum; `cold`: what
    failed in the warm-up, by kind, with the first words about it; `lost`: workers that were heard no more; `given_up`:
    that the test ended before its time, as hopeless."""
    latencies = {name: _summary(rows[name], *extremes[name]) for name in DEFINITIONS if rows.get(name)}
    counted = list(tally.seconds.items())  # at once: a thread may draw while the test runs
    window = [second for at, second in counted if at < measured_s]  # not those waited for afterwards
    rates = {
        "requests": _rate(sum(each.answers - each.failures for each in window), measured_s),
        "tokens": _rate(sum(each.tokens for each in window), measured_s),
        "goodput": _rate(sum(each.good for each in window), measured_s),
    }
    failed = tally.failures / tally.requests if tally.requests else None
    verdicts = [_verdict(objective, latencies, rates, failed) for objective in settings.objectives]
    lag = latencies.get("SEND LAG", {}).get("percentiles", {}).get("99")
    found = doubts(
        tally, settings.objectives, lambda row: latencies.get(row, {}).get("count", 0), lag, cpu,
        settings.warm_up_s + measured_s, planned=settings.open,
    )  # fmt: skip
    if lost:
        text = (
            f"workers lost while the test ran: {lost}; what they had not reported is missing, and so may be their share"
        )
        found.append(Doubt("lost-workers", text))
    late = sum(each.at_s > settings.warm_up_s + settings.seconds for each in settings.trace)
    if late:
        text = f"{late} of the trace's {len(settings.trace)} requests lie after the end of the test; give it more time"
        found.append(Doubt("trace", text, invalid=False))
    found += [
        Doubt("warm-up", f"failed in the warm-up: {kind}: {hidden(words, settings.secrets)}", invalid=False)
        for kind, words in sorted(cold.items())
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "chatproof", "version": version("chatproof")},
        "target": {"url": settings.base, "dialect": settings.contract.name, "model": settings.model},
        "load": {
            "loop": "open" if settings.open else "closed",
            "users": None if settings.open else settings.users,
            "rate_per_s": settings.rate,
            "arrivals": "trace" if settings.trace else settings.process if settings.open else None,
            "shape": settings.shape,
            "seed": settings.seed,
            "warm_up_s": settings.warm_up_s,
            "planned_s": settings.seconds,
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
            {"kind": kind, "count": count, "first": hidden(tally.details.get(kind, ""), settings.secrets)}
            for kind, count in sorted(tally.kinds.items(), key=lambda each: (-each[1], each[0]))
        ],
        "conformance": {
            "streams_judged": tally.sampled,
            "findings": [
                {"rule": rule, "count": count, "first": hidden(tally.finding_details.get(rule, ""), settings.secrets)}
                for rule, count in sorted(tally.findings.items(), key=lambda each: (-each[1], each[0]))
            ],
        },
        "latencies_ms": latencies,
        "definitions": dict(DEFINITIONS),
        "objectives": verdicts,
        "doubts": [{"name": each.name, "text": each.text, "invalid": each.invalid} for each in found],
        "own_cpu": round(cpu, 3),
        "seconds": [
            {"at_s": at, "sent": second.sent, "answers": second.answers, "failures": second.failures,
             "good": second.good, "tokens": second.tokens,
             "ttft_ms": sorted(second.ttft_ms.items()), "gap_ms": sorted(second.gap_ms.items())}
            for at, second in sorted(tally.seconds.items())
        ],
        "worst_streams": tally.worst,
        "given_up": None if given_up is None else asdict(given_up),
        "exit_code": FAILURES if given_up
        else exit_code(tally, settings.max_failures, verdicts, any(each.invalid for each in found)),
    }  # fmt: skip


def exit_code(tally: Tally, max_failures: float, verdicts: list[dict[str, Any]], doubted: bool) -> int:
    """Failures first, since what failed was not measured; then doubts, since what is doubtful was neither met nor
    missed; then objectives."""
    if not tally.requests or tally.failures > max_failures * tally.requests or tally.findings:
        return FAILURES
    if doubted:
        return INVALID
    return MET if all(each["met"] for each in verdicts) else MISSED


def verdict(made: Mapping[str, Any]) -> str:
    """What the exit code says, in words."""
    code, counts = made["exit_code"], made["counts"]
    if given_up := made.get("given_up"):
        after = f"given up after {given_up['at_s']:.3g} of {made['load']['planned_s']:g} s ({given_up['limit']})"
        return f"{after}: {verdict({**made, 'given_up': None})}"
    if code == FAILURES:
        if not counts["requests"]:
            return "no request was measured"
        if [(failure["kind"], failure["count"]) for failure in made["failures"]] == [("connect", counts["requests"])]:
            return f"nothing answers at {made['target']['url']}: {made['failures'][0]['first']}"
        failed = [f"{counts['failures']} of {counts['requests']} requests failed"] if counts["failures"] else []
        return " and ".join(
            [*failed, *(["streams broke the contract's rules"] if made["conformance"]["findings"] else [])]
        )
    if code == MET and not made["objectives"]:
        return "nothing failed, and no objective was stated"
    return {MET: "objectives met", MISSED: "an objective is missed", INVALID: "the measurement cannot be trusted"}[code]


def quantile(buckets: Buckets, share: float) -> float | None:
    """The least bucket that at least this share of the values does not exceed."""
    total = sum(count for _, count in buckets)
    below = 0
    for value, count in sorted(buckets):
        below += count
        if below >= share * total:
            return value
    return None


def _summary(buckets: Buckets, least: float, greatest: float, total: float) -> dict[str, Any]:
    count = sum(each for _, each in buckets)
    return {
        "count": count,
        "mean": round(total / count, 4),
        "min": round(least, 4),
        "max": round(greatest, 4),
        "percentiles": {f"{percentile:g}": quantile(buckets, percentile / 100) for percentile in PERCENTILES},
        "buckets": sorted(buckets),
    }


def _verdict(
    objective: Objective, latencies: Mapping[str, Any], rates: Mapping[str, float | None], failed: float | None
) -> dict[str, Any]:
    value: float | None
    if objective.row is None:
        value = failed if objective.name == "failures" else rates[objective.name]
    else:
        row = latencies.get(objective.row)
        share = percent(objective.which)
        if row is None:
            value = None
        elif share is None:
            value = row[objective.which]
        else:
            value = quantile(row["buckets"], share)
    return {"objective": objective.text, "limit": objective.limit, "value": value, "met": objective.holds(value)}


def _rate(count: int, seconds: float) -> float | None:
    return round(count / seconds, 3) if seconds > 0 else None


def _ratio(one: int, other: int) -> float | None:
    return round(one / other, 4) if other else None
