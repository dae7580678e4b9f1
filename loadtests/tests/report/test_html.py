"""The charts and texts of the HTML report, from known results."""

from __future__ import annotations

import re

from loadtests.report.chart import Axis, Series, draw_lines
from loadtests.report.html import render_report
from loadtests.tests.example_results import MANY, make_answer, make_results


def test_a_point_without_neighbours_is_drawn() -> None:
    axes = Axis.over("s", [0.0, 4.0]), Axis.over("ms", [0.0, 9.0])
    drawn = draw_lines("", *axes, [Series("p50", [(0.0, 5.0), (1.0, None), (2.0, 5.0), (3.0, 6.0)])])
    assert 1 == drawn.count("m-3 0h6")


def test_a_few_tiny_values_do_not_change_the_axis() -> None:
    results = make_results([make_answer(at * 10, 100) for at in range(900)])
    for row in results["latencies_ms"].values():
        row["buckets"] = [[90.0, 2000], [100.0, 2000]]
    others = render_report(results)
    for row in results["latencies_ms"].values():
        row["buckets"] = [[0.0, 1], *row["buckets"]]
    ticks = re.compile(r'class="tick"[^>]*>([^<]*)<')
    assert ticks.findall(others) == ticks.findall(render_report(results))


def test_the_report_has_its_charts_and_no_script() -> None:
    results = make_results([*MANY, make_answer(5, 5, failure="http-500")], "ttft_p50=1s")
    results["search"] = {
        "steps": [{"rate_per_s": 1.0, "goodput_per_s": 1.0}, {"rate_per_s": 2.0, "goodput_per_s": 1.5}]
    }
    text = render_report(results)
    assert 7 == text.count("<svg")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert [] == re.findall(r'(?:src|href)="', text)


def test_tables_have_headers_with_a_scope_and_scroll_with_the_keyboard() -> None:
    text = render_report(make_results([make_answer(at * 100, 5) for at in range(30)]))
    headers = re.findall("<th([^>]*)>([^<]*)</th>", text)
    assert headers
    assert [] == [(given, name) for given, name in headers if "scope=" not in given or not name]
    assert text.count("<table") == text.count('<div class="table" tabindex="0" role="group" aria-label="')


def test_a_failed_request_is_drawn_as_failed_and_not_as_an_answer() -> None:
    text = render_report(make_results([make_answer(at * 100, 5, failure="connect") for at in range(30)]))
    chart = text[text.index("Requests per second over time") :]
    answers, good, failed, *_ = re.findall(r'<path class="line[^>]* d="([^"]*)"', chart)
    assert answers == good
    assert answers != failed
