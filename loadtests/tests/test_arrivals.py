"""Arrivals: the plan has the rate and the spread that it states, and depends on its seed alone."""

from __future__ import annotations

import itertools
import json
import statistics
from typing import TYPE_CHECKING

import pytest

from loadtests.errors import UsageError
from loadtests.shape.arrivals import SHAPES, Leg, Profile, Traced, arrivals, ramp, spike, steady, steps, trace

if TYPE_CHECKING:
    from pathlib import Path

SPREAD = {("constant", 1.0): 0.0, ("poisson", 1.0): 1.0, ("gamma", 4.0): 0.5, ("gamma", 0.25): 2.0}


@pytest.mark.parametrize(("process", "burstiness"), SPREAD)
def test_gaps_have_the_mean_of_the_rate_and_the_spread_of_the_process(process: str, burstiness: float) -> None:
    times = list(arrivals(steady(50.0, 400.0), process, 7, burstiness))  # type: ignore[arg-type]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert abs(statistics.mean(gaps) - 0.02) < 0.001
    assert abs(statistics.pstdev(gaps) / statistics.mean(gaps) - SPREAD[process, burstiness]) < 0.1
    assert times == list(arrivals(steady(50.0, 400.0), process, 7, burstiness))  # type: ignore[arg-type]
    assert all(0 <= at <= 400 for at in times)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_has_as_many_arrivals_as_its_area_wherever_one_looks(shape: str) -> None:
    profile = SHAPES[shape](20.0, 100.0)
    times = list(arrivals(profile, "constant", 1))
    assert abs(len(times) - sum(leg.area for leg in profile.legs)) <= 1
    began_s, area = 0.0, 0.0
    for leg in profile.legs:
        began_s, area = began_s + leg.seconds, area + leg.area
        assert abs(sum(at <= began_s + 1e-9 for at in times) - area) <= 1


def test_the_level_follows_the_legs() -> None:
    profile = Profile((Leg(10, 0, 10), Leg(5, 10, 10)))
    assert [0, 5, 10, None] == [profile.level(at) for at in (0, 5, 12, 15)]
    assert 100.0 == ramp(8, 100).seconds == steps(8, 100).seconds == pytest.approx(spike(8, 100).seconds)


def test_a_trace_is_read_in_both_forms(tmp_path: Path) -> None:
    mooncake = [
        {"timestamp": 3000, "input_length": 5, "output_length": 7},
        {"timestamp": 1000, "input_length": 1, "output_length": 2},
    ]
    burst = [{"Timestamp": 5, "Request tokens": 4, "Response tokens": 6}]
    for rows, expected in ((mooncake, [Traced(0.0, 1, 2), Traced(2.0, 5, 7)]), (burst, [Traced(0.0, 4, 6)])):
        path = tmp_path / "trace.jsonl"
        path.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n")
        assert expected == trace(path)


def test_a_trace_may_be_the_table_that_burstgpt_is_published_as(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("\ufeffTimestamp,Model,Request tokens,Response tokens\n5,x,472,18\n45.5,x,1087,0\n")
    assert [Traced(0.0, 472, 18), Traced(40.5, 1087, 1)] == trace(path)
    path.write_text("Timestamp,Request tokens,Response tokens\n5,472,18\n6,x,1\n")
    with pytest.raises(UsageError, match="line 3: 'Request tokens' is 'x'"):
        trace(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no request"),
        ("{", "line 1"),
        ('{"timestamp": "x"}', "line 1"),
        ("{}", "neither"),
        ('{"Timestamp": 1}', "line 1: has no 'Request tokens'"),
        ("3", "line 1: is no object"),
        ('{"timestamp": NaN, "input_length": 5, "output_length": 5}', "'timestamp' is nan"),
        ('{"timestamp": 0, "input_length": 1e999, "output_length": 5}', "'input_length' is inf"),
        ('{"timestamp": 0, "input_length": 5, "output_length": "5x"}', "'output_length' is '5x'"),
    ],
)
def test_what_is_no_trace_is_refused_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        trace(path)
