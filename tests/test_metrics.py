"""The Grafana dashboard queries metrics that exist, and a load test exports what it measured."""

from __future__ import annotations

import http.server
import json
import re
import threading
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.tests.report.hostile_results import CONTROL, HOSTILE
from loadtests.errors import UsageError
from loadtests.report.extra_reports import parse_reports, write_extra_reports
from loadtests.report.measured_metrics import list_metrics, write_openmetrics, write_otlp
from loadtests.tests.example_results import make_answer, make_results
from openapi.contract.contract import load
from openapi.metrics.exposition import HistogramCounts
from reference_server.engine import EngineLoad
from reference_server.http.metrics import ServerMetrics
from reference_server.tests.http.test_metrics import SAMPLE
from reference_server.tests.scripted_engine import ScriptedEngine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.metrics.exposition import MetricFamily

ROOT = Path(__file__).resolve().parent.parent
DASHBOARD = ROOT / "docs" / "grafana" / "chatproof.json"
NAME = re.compile(r"\b(?:vllm:|chatproof:|chatproof_load_)\w+")


@pytest.fixture
def results() -> dict[str, Any]:
    answers = [make_answer(100.0 * at, 30.0 + at) for at in range(20)] + [make_answer(2500.0, 40.0, failure="status")]
    return make_results(answers, "ttft_p95=1s", "itl_p99=1ms")


@pytest.fixture
def dashboard() -> dict[str, Any]:
    return json.loads(DASHBOARD.read_text("utf-8"))  # type: ignore[no-any-return]


def samples(families: list[MetricFamily]) -> Iterator[str]:
    """Yield the names that Prometheus has for the metrics."""
    for family in families:
        if family.kind == "histogram":
            yield from (f"{family.name}_{suffix}" for suffix in ("bucket", "sum", "count"))
        else:
            yield f"{family.name}_total" if family.kind == "counter" else family.name


def queries(content: dict[str, Any]) -> Iterator[str]:
    yield from (target["expr"] for panel in content["panels"] for target in panel.get("targets", ()))
    yield from (item["query"] for item in content["templating"]["list"])


def test_the_dashboard_queries_only_metrics_that_exist(dashboard: dict[str, Any], results: dict[str, Any]) -> None:
    engine = ScriptedEngine()
    engine.current_load = EngineLoad(1, 1, 0.5)
    server = list(ServerMetrics(load("mindie").default_model, engine).families())
    known = {*samples(server), *samples(list(list_metrics(results)))}
    asked = {name for query in queries(dashboard) for name in NAME.findall(query)}
    assert set() == asked - known
    assert {family.name for family in server if family.kind == "histogram"} <= {
        name.removesuffix("_bucket") for name in asked
    }


def test_the_dashboard_can_be_loaded(dashboard: dict[str, Any]) -> None:
    panels = dashboard["panels"]
    assert len(panels) == len({panel["id"] for panel in panels})
    places = [panel["gridPos"] for panel in panels]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    for one, other in combinations(places, 2):
        apart = [one[axis] + one[size] <= other[axis] or other[axis] + other[size] <= one[axis] for axis, size in AXES]
        assert any(apart)
    sources = {panel["datasource"]["uid"] for panel in panels if "datasource" in panel}
    assert {"${source}"} == sources
    for query in queries(dashboard):
        assert query.count("(") == query.count(")")
        assert query.count("{") == query.count("}")


AXES = (("x", "w"), ("y", "h"))


def test_openmetrics_has_the_figures_of_the_results(results: dict[str, Any]) -> None:
    text = write_openmetrics(results)
    assert text.endswith("# EOF\n")
    assert 'outcome="answered"} 20.0' in text
    assert 'outcome="failed"} 1.0' in text
    assert 'kind="status"} 1.0' in text
    families = {family.name: family for family in list_metrics(results)}
    ((_, ttft),) = families["chatproof_load_time_to_first_token_seconds"].values
    assert isinstance(ttft, HistogramCounts)
    measured = results["latencies_ms"]["TTFT"]
    assert measured["count"] == sum(ttft.counts)
    assert measured["mean"] * measured["count"] / 1000 == pytest.approx(ttft.sum)
    met = {labels["objective"]: value for labels, value in families["chatproof_load_objective_met"].values}
    assert {item["objective"]: float(item["met"]) for item in results["objectives"]} == met
    assert {0.0, 1.0} == set(met.values())
    if find_spec("prometheus_client") is not None:
        parser = import_module("prometheus_client.openmetrics.parser")
        assert set(families) == {family.name for family in parser.text_string_to_metric_families(text)}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_of_a_server_adds_a_line_or_a_label(results: dict[str, Any], text: str) -> None:
    results["target"]["model"] = text
    results["failures"][0]["kind"] = text
    lines = write_openmetrics(results).splitlines()
    assert [] == [line for line in lines if not line.startswith("# ") and SAMPLE.fullmatch(line) is None]
    assert len(write_openmetrics({**results, "target": {**results["target"], "model": "m"}}).splitlines()) == len(lines)
    assert not CONTROL.search("".join(lines))
    assert json.loads(write_otlp(results))


def test_otlp_has_the_same_figures(results: dict[str, Any]) -> None:
    (resource,) = json.loads(write_otlp(results))["resourceMetrics"]
    (scope,) = resource["scopeMetrics"]
    metrics = {metric["name"]: metric for metric in scope["metrics"]}
    assert {family.name for family in list_metrics(results) if family.values} == metrics.keys()
    (point,) = metrics["chatproof_load_time_to_first_token_seconds"]["histogram"]["dataPoints"]
    assert len(point["explicitBounds"]) + 1 == len(point["bucketCounts"])
    assert point["count"] == str(sum(map(int, point["bucketCounts"])))
    total = metrics["chatproof_load_requests"]["sum"]
    assert total["isMonotonic"]
    assert [20.0, 1.0, 0.0] == [item["asDouble"] for item in total["dataPoints"]]


@contextmanager
def collector(status: int) -> Iterator[tuple[str, list[Any]]]:
    """A collector that accepts or refuses what is posted to it."""
    received: list[Any] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/metrics", received
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("status", [200, 503])
def test_otlp_is_sent_to_a_collector_and_a_refusal_is_one_line(results: dict[str, Any], status: int) -> None:
    with collector(status) as (url, received):
        errors = write_extra_reports(parse_reports([f"otlp={url}"]), results)
    assert 1 == len(received)
    assert (status == 200) == (errors == [])
    assert all(error.startswith(f"otlp={url}: ") and "\n" not in error for error in errors)


def test_a_report_that_cannot_be_written_is_refused_before_the_test(tmp_path: Path) -> None:
    for option, expected in (
        ("openmetric=x", "KIND is one of openmetrics, otlp"),
        ("openmetrics=", "expected KIND=PATH"),
        ("openmetrics=http://h", "only otlp is sent to an address"),
        (f"openmetrics={tmp_path}/no/x", "does not exist"),
    ):
        with pytest.raises(UsageError, match=re.escape(expected)):
            parse_reports([option])
    assert () == parse_reports([""])  # Locust's default
