"""The page: its charts, from results that are known."""

from __future__ import annotations

import re

from loadtests.report.chart import Axis, Series, lines
from loadtests.report.html import page
from loadtests.tests.built import MANY, answer, built


def test_a_second_with_no_neighbours_is_drawn() -> None:
    axes = Axis.over("s", [0.0, 4.0]), Axis.over("ms", [0.0, 9.0])
    drawn = lines("", *axes, [Series("p50", [(0.0, 5.0), (1.0, None), (2.0, 5.0), (3.0, 6.0)])])
    assert 1 == drawn.count("m-3 0h6")


def test_a_tiny_value_among_many_does_not_take_the_axis() -> None:
    made = built([answer(at * 10, 100) for at in range(900)])
    for row in made["latencies_ms"].values():
        row["buckets"] = [[90.0, 2000], [100.0, 2000]]
    others = page(made)
    for row in made["latencies_ms"].values():
        row["buckets"] = [[0.0, 1], *row["buckets"]]
    ticks = re.compile(r'class="tick"[^>]*>([^<]*)<')
    assert ticks.findall(others) == ticks.findall(page(made))


def test_the_page_holds_its_charts_and_nothing_that_runs() -> None:
    made = built([*MANY, answer(5, 5, failure="http-500")], "ttft_p50=1s")
    made["search"] = {"steps": [{"rate_per_s": 1.0, "goodput_per_s": 1.0}, {"rate_per_s": 2.0, "goodput_per_s": 1.5}]}
    text = page(made)
    assert 7 == text.count("<svg")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert [] == re.findall(r'(?:src|href)="', text)


def test_what_failed_is_drawn_as_failed_and_not_as_an_answer() -> None:
    text = page(built([answer(at * 100, 5, failure="connect") for at in range(30)]))
    chart = text[text.index("Requests of each second") :]
    answers, good, failed, *_ = re.findall(r'<path class="line[^>]* d="([^"]*)"', chart)
    assert answers == good
    assert answers != failed
