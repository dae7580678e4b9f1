"""Results that are built from answers with known times."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from loadtests.client.answer import Answer
from loadtests.measure.latency import answer_latencies, bucket
from loadtests.measure.objectives import make_goodput_check, parse
from loadtests.measure.tally import Tally
from loadtests.report.measurement import LoadPlan, Measurement
from loadtests.report.results import build_results

if TYPE_CHECKING:
    from collections.abc import Sequence

MS = 1_000_000


def make_answer(
    at_ms: float, ttft_ms: float, gaps: int = 4, gap_ms: float = 20.0, failure: str | None = None
) -> Answer:
    sent = round(at_ms * MS)
    stamps = [sent + round((ttft_ms + gap_ms * number) * MS) for number in range(gaps + 1)]
    return Answer(
        sent,
        sent,
        ended_ns=stamps[-1] + MS,
        status=200,
        failure=failure,
        detail="<script>alert(1)</script>" if failure else "",
        stamps_ns=stamps,
        counts=[1] * len(stamps),
        usage={"completion_tokens": gaps + 1},
    )


PLAN = LoadPlan(
    url="http://h",
    dialect="openai",
    model="m",
    open_loop=False,
    users=3,
    rate_per_s=None,
    process="poisson",
    shape="steady",
    seed=1,
    warm_up_s=0.0,
    seconds=10.0,
    max_failures=0.0,
)


def make_results(answers: Sequence[Answer], *bounds: str, **changes: Any) -> dict[str, Any]:
    plan = replace(PLAN, objectives=tuple(parse(bound) for bound in bounds), **changes)
    tally = Tally()
    rows: dict[str, dict[float, int]] = {}
    values: dict[str, list[float]] = {}
    for answer in answers:
        tally.add(replace(answer), 0, make_goodput_check(plan.objectives))
        if answer.succeeded:
            gaps = [(later - earlier) / MS for earlier, later in pairwise(answer.stamps_ns)]
            for name, value in [*answer_latencies(answer), *(("ITL", gap) for gap in gaps)]:
                row = rows.setdefault(name, {})
                row[bucket(value)] = row.get(bucket(value), 0) + 1
                values.setdefault(name, []).append(value)
    buckets = {name: list(row.items()) for name, row in rows.items()}
    extremes = {name: (min(row), max(row), sum(row)) for name, row in values.items()}
    return build_results(plan, Measurement(tally, buckets, extremes, cpu=0.1, measured_s=10.0))


MANY = [make_answer(at * 10, 50 + at / 10) for at in range(1000)]
