"""Objectives are parsed with their units, and decide which values and answers are good."""

from __future__ import annotations

import pytest

from loadtests.errors import UsageError
from loadtests.measure.objectives import Objective, make_goodput_check, min_samples, parse

PARSED = {
    "ttft_p95=300ms": Objective("ttft_p95=300ms", "ttft", "p95", 300.0, at_least=False),
    "itl_p99.9=0.04s": Objective("itl_p99.9=0.04s", "itl", "p99.9", 40.0, at_least=False),
    "e2e=2s": Objective("e2e=2s", "e2e", "p99", 2000.0, at_least=False),
    "tpot_mean=500us": Objective("tpot_mean=500us", "tpot", "mean", 0.5, at_least=False),
    "send_lag_max=5": Objective("send_lag_max=5", "send_lag", "max", 5.0, at_least=False),
    "ttft_planned_p50=1s": Objective("ttft_planned_p50=1s", "ttft_planned", "p50", 1000.0, at_least=False),
    "failures=1%": Objective("failures=1%", "failures", "", 0.01, at_least=False),
    "goodput=5/s": Objective("goodput=5/s", "goodput", "", 5.0, at_least=True),
}


@pytest.mark.parametrize("text", PARSED)
def test_an_objective_is_parsed_with_its_unit(text: str) -> None:
    assert PARSED[text] == parse(text)


INVALID = (
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


@pytest.mark.parametrize("text", INVALID)
def test_an_invalid_objective_is_rejected_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="objective") as caught:
        parse(text)
    assert len(str(caught.value).splitlines()) == 1


def test_an_objective_without_a_measured_value_is_missed() -> None:
    assert [False, True, False] == [parse("ttft=10ms").is_met(value) for value in (None, 10.0, 10.1)]
    assert [False, True, False] == [parse("goodput=5").is_met(value) for value in (None, 5.0, 4.9)]


def test_an_answer_is_good_if_all_its_latencies_meet_the_objectives() -> None:
    is_good = make_goodput_check((parse("ttft_p95=100ms"), parse("itl_p99=20ms"), parse("goodput=1/s")))
    good = {"TTFT": 100.0, "TPOT": 20.0, "E2E": 9e9}
    assert [True, False, False] == [is_good(good), is_good({**good, "TTFT": 101.0}), is_good({**good, "TPOT": 21.0})]


def test_a_percentile_needs_ten_values_above_it() -> None:
    assert [20, 200, 1000, 10_000, 1] == [min_samples(which) for which in ("p50", "p95", "p99", "p99.9", "max")]
