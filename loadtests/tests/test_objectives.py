"""Objectives: what is read, what is refused, and who meets them."""

from __future__ import annotations

import pytest

from loadtests.errors import UsageError
from loadtests.measure.objectives import Objective, met_by, parse, samples_needed

READ = {
    "ttft_p95=300ms": Objective("ttft_p95=300ms", "ttft", "p95", 300.0, at_least=False),
    "itl_p99.9=0.04s": Objective("itl_p99.9=0.04s", "itl", "p99.9", 40.0, at_least=False),
    "e2e=2s": Objective("e2e=2s", "e2e", "p99", 2000.0, at_least=False),
    "tpot_mean=500us": Objective("tpot_mean=500us", "tpot", "mean", 0.5, at_least=False),
    "send_lag_max=5": Objective("send_lag_max=5", "send_lag", "max", 5.0, at_least=False),
    "ttft_planned_p50=1s": Objective("ttft_planned_p50=1s", "ttft_planned", "p50", 1000.0, at_least=False),
    "failures=1%": Objective("failures=1%", "failures", "", 0.01, at_least=False),
    "goodput=5/s": Objective("goodput=5/s", "goodput", "", 5.0, at_least=True),
}


@pytest.mark.parametrize("text", READ)
def test_an_objective_is_read_with_its_unit(text: str) -> None:
    assert READ[text] == parse(text)


REFUSED = (
    "",
    "ttft",
    "ttft_p95",
    "ttft=fast",
    "ttft_p95=3kg",
    "speed=5",
    "goodput_p95=5/s",
    "ttft_p95=-1ms",
    "failures=5",
)


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_objective_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="objective") as caught:
        parse(text)
    assert len(str(caught.value).splitlines()) == 1


def test_what_was_not_measured_is_missed() -> None:
    assert [False, True, False] == [parse("ttft=10ms").holds(value) for value in (None, 10.0, 10.1)]
    assert [False, True, False] == [parse("goodput=5").holds(value) for value in (None, 5.0, 4.9)]


def test_an_answer_is_good_when_all_its_own_latencies_keep_the_bounds() -> None:
    met = met_by((parse("ttft_p95=100ms"), parse("itl_p99=20ms"), parse("goodput=1/s")))
    good = {"TTFT": 100.0, "TPOT": 20.0, "E2E": 9e9}
    assert [True, False, False] == [met(good), met({**good, "TTFT": 101.0}), met({**good, "TPOT": 21.0})]


def test_a_percentile_needs_ten_values_above_it() -> None:
    assert [20, 200, 1000, 10_000, 1] == [samples_needed(which) for which in ("p50", "p95", "p99", "p99.9", "max")]
