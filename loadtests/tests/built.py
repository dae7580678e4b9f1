"""Results that are built from answers whose times are known."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from loadtests.client.answer import Answer
from loadtests.measure import latency
from loadtests.measure.objectives import met_by, parse
from loadtests.measure.tally import Tally
from loadtests.report import results

MS = 1_000_000


def answer(at_ms: float, ttft_ms: float, gaps: int = 4, gap_ms: float = 20.0, failure: str | None = None) -> Answer:
    sent = round(at_ms * MS)
    stamps = [sent + round((ttft_ms + gap_ms * number) * MS) for number in range(gaps + 1)]
    return Answer(sent, sent, None, stamps[-1] + MS, 200, failure, "<script>alert(1)</script>" if failure else "",
                  stamps, [1] * len(stamps), usage={"completion_tokens": gaps + 1})  # fmt: skip


def settings(*bounds: str, **others: Any) -> Any:
    made = SimpleNamespace(
        objectives=tuple(parse(bound) for bound in bounds), base="http://h", contract=SimpleNamespace(name="openai"),
        model="m", open=False, users=3, rate=None, trace=(), process="poisson", shape="steady", seed=1, warm_up_s=0.0,
        seconds=10.0, max_failures=0.0, secrets=(),
    )  # fmt: skip
    made.__dict__.update(others)
    return made


def built(answers: list[Answer], *bounds: str, **others: Any) -> dict[str, Any]:
    tally, asked = Tally(), settings(*bounds, **others)
    rows: dict[str, dict[float, int]] = {}
    sums: dict[str, list[float]] = {}
    for each in answers:
        tally.add(replace(each), 0, met_by(asked.objectives))
        if each.succeeded:
            gaps = [(later - earlier) / latency.MS for earlier, later in pairwise(each.stamps_ns)]
            for name, value in [*latency.of(each), *(("ITL", gap) for gap in gaps)]:
                rows.setdefault(name, {}).setdefault(latency.bucket(value), 0)
                rows[name][latency.bucket(value)] += 1
                sums.setdefault(name, []).append(value)
    extremes = {name: (min(values), max(values), sum(values)) for name, values in sums.items()}
    return results.build(asked, tally, {name: list(row.items()) for name, row in rows.items()}, extremes, 0.1, 10.0, {})


MANY = [answer(at * 10, 50 + at / 10) for at in range(1000)]
