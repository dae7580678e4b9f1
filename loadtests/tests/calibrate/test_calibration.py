"""The calibration compares with the server's record, summarizes turns and checks limits, with both clients."""

from __future__ import annotations

import sys

import pytest

from loadtests.calibrate import calibration
from loadtests.calibrate.calibration import CalibrationRow, FigureLimit

MS = 1_000_000


def test_costs_are_the_least_of_several_turns_and_errors_the_median() -> None:
    turns = [
        CalibrationRow("transport", 200, {"cpu_us": cpu, "chunks_per_cpu_s": 1e6 / cpu, "itl_error_ms": error})
        for cpu, error in ((20.0, 0.3), (10.0, 0.1), (40.0, 0.2))
    ]
    expected = {"cpu_us": 10.0, "chunks_per_cpu_s": 100_000.0, "itl_error_ms": 0.2}
    assert CalibrationRow("transport", 200, expected) == calibration.summarize_turns(turns)


@pytest.mark.parametrize(
    ("figures", "expected"),
    [({"cpu_us": 12.0}, (12.0, True)), ({"cpu_us": 12.1}, (12.1, False)), ({}, (None, False))],
)
def test_a_limit_is_met_by_a_figure_within_it_and_not_by_a_missing_one(
    figures: dict[str, float], expected: tuple[float | None, bool]
) -> None:
    assert expected == FigureLimit("transport", 200, "cpu_us", 12.0).check([CalibrationRow("transport", 200, figures)])


def test_a_row_that_was_not_requested_meets_every_limit() -> None:
    assert (None, True) == FigureLimit("transport", 200, "cpu_us", 12.0).check(
        [CalibrationRow("transport", 50, {"cpu_us": 99.0})]
    )


def test_errors_are_the_difference_between_the_client_and_the_server() -> None:
    truth = [{"user": "0", "read_ns": 5 * MS, "sent_ns": [205 * MS, 225 * MS, 246 * MS]}]
    seen = {"0": (1000 * MS, [1202 * MS, 1222 * MS, 1245 * MS])}
    assert {"ttft_error_ms": 2.0, "itl_error_ms": 2.0, "late_ms": 1.0} == calibration.timing_errors(seen, truth)


@pytest.mark.skipif(sys.platform != "linux", reason="the calibration server needs a timerfd")
def test_both_clients_receive_every_event_of_a_schedule() -> None:
    with calibration.run_schedule_server() as url:
        rows = [
            measure(url, 3, calibration.SHORT)
            for measure in (calibration.measure_baseline, calibration.measure_transport)
        ]
    assert [("baseline client", 15), ("transport", 15)] == [(row.name, row.figures["chunks"]) for row in rows]
