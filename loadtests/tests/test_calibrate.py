"""The calibration: errors are told from truth, costs are the least of several turns, a figure that is missing keeps no
bound, and both clients see every event of a schedule."""

from __future__ import annotations

import sys

import pytest

from loadtests.calibrate import calibration as calibrate
from loadtests.calibrate.calibration import Bound, Measured

MS = 1_000_000


def test_costs_are_the_least_of_several_turns_and_errors_the_median() -> None:
    turns = [
        Measured("transport", 200, {"cpu_us": cpu, "chunks_per_cpu_s": 1e6 / cpu, "itl_error_ms": error})
        for cpu, error in ((20.0, 0.3), (10.0, 0.1), (40.0, 0.2))
    ]
    expected = {"cpu_us": 10.0, "chunks_per_cpu_s": 100_000.0, "itl_error_ms": 0.2}
    assert Measured("transport", 200, expected) == calibrate.of_turns(turns)


@pytest.mark.parametrize(
    ("figures", "kept"),
    [({"cpu_us": 12.0}, (12.0, True)), ({"cpu_us": 12.1}, (12.1, False)), ({}, (None, False))],
)
def test_a_bound_is_kept_by_a_figure_within_it_and_not_by_none(
    figures: dict[str, float], kept: tuple[float | None, bool]
) -> None:
    assert kept == Bound("transport", 200, "cpu_us", 12.0).kept([Measured("transport", 200, figures)])


def test_a_row_that_was_not_asked_for_breaks_no_bound() -> None:
    assert (None, True) == Bound("transport", 200, "cpu_us", 12.0).kept([Measured("transport", 50, {"cpu_us": 99.0})])


def test_errors_are_what_a_client_says_less_what_the_server_did() -> None:
    truth = [{"user": "0", "read_ns": 5 * MS, "sent_ns": [205 * MS, 225 * MS, 246 * MS]}]
    seen = {"0": (1000 * MS, [1202 * MS, 1222 * MS, 1245 * MS])}
    assert {"ttft_error_ms": 2.0, "itl_error_ms": 2.0, "late_ms": 1.0} == calibrate.errors(seen, truth)


@pytest.mark.skipif(sys.platform != "linux", reason="the calibration server keeps its schedule by timerfd")
def test_both_clients_see_every_event_of_a_schedule() -> None:
    with calibrate.schedule_server() as url:
        rows = [measure(url, 3, calibrate.SHORT) for measure in (calibrate.bare, calibrate.transport)]
    assert [("bare sockets", 15), ("transport", 15)] == [(row.name, row.figures["chunks"]) for row in rows]
