"""Metrics: the text format, vLLM's names, and counts that agree with what the server did."""

from __future__ import annotations

import math
import re
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import httpx
import pytest

from openapi.metrics.exposition import PROMETHEUS_TYPE, HistogramCounts, MetricFamily, write_metrics
from reference_server.engine import EngineLoad
from reference_server.http.metrics import E2E_S, ITL_S, TTFT_S
from reference_server.tests.app_client import KEY, body, client
from reference_server.tests.scripted_engine import ScriptedEngine

if TYPE_CHECKING:
    from collections.abc import Mapping

SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)(?:\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)')
OF_VLLM = {
    *("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc", "vllm:prompt_tokens"),
    *("vllm:prompt_tokens_cached", "vllm:generation_tokens", "vllm:request_success", "vllm:admission_rejections"),
    *("vllm:time_to_first_token_seconds", "vllm:inter_token_latency_seconds", "vllm:e2e_request_latency_seconds"),
}
"""The names of vLLM 0.32 that this server has."""


def read(text: str) -> dict[str, float]:
    """The value of each sample by its name and labels; asserts that each line is one of the format."""
    values = {}
    for line in text.splitlines():
        if not line.startswith("# "):
            match = SAMPLE.fullmatch(line)
            assert match is not None, line
            values[f"{match[1]}{{{match[2] or ''}}}"] = float(match[3])
    return values


def total(values: Mapping[str, float], name: str, label: str = "") -> float:
    return sum(value for sample, value in values.items() if sample.startswith(f"{name}{{") and label in sample)


def scrape(http: httpx.Client) -> dict[str, float]:
    response = http.get("/metrics")
    assert (200, PROMETHEUS_TYPE) == (response.status_code, response.headers["content-type"])
    return read(response.text)


def test_answers_streams_and_refusals_are_counted() -> None:
    with client() as (http, path):
        plain = http.post(path, json=body()).json()
        http.post(path, json=body(stream=True))
        assert 400 <= http.post(path, json=body(temperature=99)).status_code < 500
        http.get("/nowhere")
        values = scrape(http)
    assert 2 == total(values, "vllm:time_to_first_token_seconds_count") == total(values, "vllm:request_success_total")
    assert 2 * plain["usage"]["completion_tokens"] == total(values, "vllm:generation_tokens_total")
    assert 2 * plain["usage"]["prompt_tokens"] == total(values, "vllm:prompt_tokens_total")
    tokens = total(values, "vllm:inter_token_latency_seconds_count")
    assert total(values, "vllm:generation_tokens_total") - 2 == tokens
    assert 2 == total(values, "vllm:e2e_request_latency_seconds_count")
    refusals = {sample.partition('reason="')[2][:-2]: n for sample, n in values.items() if "request_refusals" in sample}
    assert 1 == refusals.pop("not_found")
    assert [1] == list(refusals.values())
    assert 0 == total(values, "vllm:num_requests_running") == total(values, "vllm:num_requests_waiting")


def test_a_request_that_a_full_queue_refuses_is_an_admission_rejection() -> None:
    with client(max_in_flight=0) as (http, path):
        assert 503 == http.post(path, json=body()).status_code
        assert 1 == total(scrape(http), "vllm:admission_rejections_total", 'reason="overloaded"')


def test_metrics_need_the_key_of_the_server() -> None:
    with client(api_key=KEY) as (http, _):
        assert 200 == http.get("/metrics").status_code
        assert 401 == httpx.get(f"{http.base_url}/metrics").status_code


def test_an_engine_that_tells_its_load_has_a_gauge_of_its_cache() -> None:
    engine = ScriptedEngine()
    engine.current_load = EngineLoad(3, 5, 0.25)
    with client(engine=engine) as (http, _):
        values = scrape(http)
    names = ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc")
    assert [3, 5, 0.25] == [total(values, name) for name in names]


def test_names_are_those_of_vllm_or_begin_with_our_own() -> None:
    with client() as (http, _):
        text = http.get("/metrics").text
    names = {match.removesuffix("_total") for match in re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)}
    assert {"chatproof:request_refusals"} == names - OF_VLLM
    assert {"vllm:kv_cache_usage_perc"} >= OF_VLLM - names  # the scripted engine has no cache


def test_bounds_ascend() -> None:
    for bounds in (TTFT_S, ITL_S, E2E_S):
        assert sorted(set(bounds)) == list(bounds)


HOSTILE = 'a"b\\c\nd{e="f"} # EOF'


@pytest.mark.parametrize("openmetrics", [False, True])
def test_the_text_is_valid_whatever_a_label_contains(openmetrics: bool) -> None:
    counts = HistogramCounts((0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 7):
        counts.observe(value)
    families = [
        MetricFamily("n:requests", "counter", HOSTILE, [({"model": HOSTILE}, 2)]),
        MetricFamily("n:usage", "gauge", "Usage.", [({}, 0.5)]),
        MetricFamily("n:seconds", "histogram", "Time.", [({"model": HOSTILE}, counts)]),
    ]
    text = write_metrics(families, openmetrics=openmetrics)
    values = read(text)
    assert [2, 3, 4] == [value for name, value in values.items() if name.startswith("n:seconds_bucket")]
    assert math.isclose(7.65, total(values, "n:seconds_sum"))
    assert openmetrics == text.endswith("\n# EOF\n")
    if find_spec("prometheus_client") is not None:
        parser = import_module(f"prometheus_client{'.openmetrics' * openmetrics}.parser")
        parsed = {family.name: family for family in parser.text_string_to_metric_families(text)}
        assert {"n:requests", "n:usage", "n:seconds"} == parsed.keys()
        assert HOSTILE == parsed["n:requests"].samples[0].labels["model"]
