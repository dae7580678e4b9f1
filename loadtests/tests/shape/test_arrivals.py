"""Arrivals have the rate and the spread of their process, and depend only on the seed."""

from __future__ import annotations

import itertools
import json
import statistics
from typing import TYPE_CHECKING

import pytest

from loadtests.errors import UsageError
from loadtests.shape.arrivals import (
    SHAPES,
    Profile,
    ProfileSegment,
    TracedRequest,
    generate_arrivals,
    ramp,
    read_trace,
    spike,
    steady,
    steps,
)

if TYPE_CHECKING:
    from pathlib import Path

SPREAD = {("constant", 1.0): 0.0, ("poisson", 1.0): 1.0, ("gamma", 4.0): 0.5, ("gamma", 0.25): 2.0}


@pytest.mark.parametrize(("process", "burstiness"), SPREAD)
def test_gaps_have_the_mean_of_the_rate_and_the_spread_of_the_process(process: str, burstiness: float) -> None:
    times = list(generate_arrivals(steady(50.0, 400.0), process, 7, burstiness))  # type: ignore[arg-type]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert abs(statistics.mean(gaps) - 0.02) < 0.001
    assert abs(statistics.pstdev(gaps) / statistics.mean(gaps) - SPREAD[process, burstiness]) < 0.1
    assert times == list(generate_arrivals(steady(50.0, 400.0), process, 7, burstiness))  # type: ignore[arg-type]
    assert all(0 <= at <= 400 for at in times)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_has_as_many_arrivals_as_its_area_after_each_segment(shape: str) -> None:
    profile = SHAPES[shape](20.0, 100.0)
    times = list(generate_arrivals(profile, "constant", 1))
    assert abs(len(times) - sum(segment.area for segment in profile.segments)) <= 1
    began_s, area = 0.0, 0.0
    for segment in profile.segments:
        began_s, area = began_s + segment.seconds, area + segment.area
        assert abs(sum(at <= began_s + 1e-9 for at in times) - area) <= 1


def test_the_level_follows_the_segments() -> None:
    profile = Profile((ProfileSegment(10, 0, 10), ProfileSegment(5, 10, 10)))
    assert [0, 5, 10, None] == [profile.level(at) for at in (0, 5, 12, 15)]
    assert 100.0 == ramp(8, 100).seconds == steps(8, 100).seconds == pytest.approx(spike(8, 100).seconds)


def test_a_trace_is_read_in_both_formats(tmp_path: Path) -> None:
    mooncake = [
        {"timestamp": 3000, "input_length": 5, "output_length": 7},
        {"timestamp": 1000, "input_length": 1, "output_length": 2},
    ]
    burst = [{"Timestamp": 5, "Request tokens": 4, "Response tokens": 6}]
    for rows, expected in (
        (mooncake, [TracedRequest(0.0, 1, 2), TracedRequest(2.0, 5, 7)]),
        (burst, [TracedRequest(0.0, 4, 6)]),
    ):
        path = tmp_path / "trace.jsonl"
        path.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n")
        assert expected == read_trace(path)


def test_a_trace_may_be_a_table_as_published_by_burstgpt(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("\ufeffTimestamp,Model,Request tokens,Response tokens\n5,x,472,18\n45.5,x,1087,0\n")
    assert [TracedRequest(0.0, 472, 18), TracedRequest(40.5, 1087, 1)] == read_trace(path)
    path.write_text("Timestamp,Request tokens,Response tokens\n5,472,18\n6,x,1\n")
    with pytest.raises(UsageError, match=r"line 3: invalid 'Request tokens': .*, got 'x'"):
        read_trace(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no requests"),
        ("{", "line 1"),
        ('{"timestamp": "x"}', "line 1"),
        ("{}", "missing field"),
        ('{"Timestamp": 1}', "line 1: missing field 'Request tokens'"),
        ("3", "line 1: expected a JSON object, got int"),
        ('{"timestamp": NaN, "input_length": 5, "output_length": 5}', "invalid 'timestamp': .*, got nan"),
        ('{"timestamp": 0, "input_length": 1e999, "output_length": 5}', "invalid 'input_length': .*, got inf"),
        ('{"timestamp": 0, "input_length": 5, "output_length": "5x"}', "invalid 'output_length': .*, got '5x'"),
    ],
)
def test_an_invalid_trace_is_rejected_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_trace(path)
