"""Percentiles, exit codes, doubts and verdicts, from answers with known times."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING

import jsonschema_rs
import pytest

from loadtests.measure.abort_limits import Aborted
from loadtests.measure.tally import Tally
from loadtests.report.html import render_report
from loadtests.report.measurement import Measurement
from loadtests.report.results import FAILURES, INVALID, MET, MISSED, build_results, describe_verdict
from loadtests.secret import redact
from loadtests.tests.example_results import MANY, PLAN, make_answer, make_results

if TYPE_CHECKING:
    from loadtests.client.answer import Answer


def test_percentiles_are_those_of_the_values_within_a_bucket() -> None:
    ttft = make_results(MANY)["latencies_ms"]["TTFT"]
    values = sorted(50 + at / 10 for at in range(1000))
    for name, share in (("50", 0.5), ("99", 0.99)):
        assert abs(ttft["percentiles"][name] / values[round(share * 1000) - 1] - 1) < 0.01
    assert (1000, 50.0, 149.9) == (ttft["count"], ttft["min"], ttft["max"])


@pytest.mark.parametrize(
    ("bounds", "answers", "code"),
    [
        (("ttft_p95=200ms",), MANY, MET),
        ((), MANY, MET),
        (("ttft_p95=60ms",), MANY, MISSED),
        (("ttft_p95=200ms",), MANY[:20], INVALID),
        (("goodput=1/s",), [*MANY, make_answer(5, 5, failure="http-500")], FAILURES),
        ((), [], FAILURES),
    ],
)
def test_the_exit_code_is_that_of_the_verdict(bounds: tuple[str, ...], answers: list[Answer], code: int) -> None:
    assert code == make_results(answers, *bounds)["exit_code"]


@pytest.mark.parametrize(
    ("bounds", "answers", "text"),
    [
        ((), MANY, "nothing failed; no objective was given"),
        (("ttft_p95=60ms",), MANY, "an objective was missed"),
        ((), [*MANY, make_answer(5, 5, failure="http-500")], "1 of 1,001 requests failed"),
        ((), [], "no request was measured"),
        ((), [make_answer(5, 5, failure="connect")] * 3, "cannot connect to http://h: <script>alert(1)</script>"),
        ((), [*MANY, make_answer(5, 5, failure="connect")], "1 of 1,001 requests failed"),
    ],
)
def test_the_verdict_describes_the_exit_code(bounds: tuple[str, ...], answers: list[Answer], text: str) -> None:
    assert text == describe_verdict(make_results(answers, *bounds))


@pytest.mark.parametrize("answers", [MANY, [], [make_answer(5, 5, failure="http-500")]])
def test_results_fit_their_schema(answers: list[Answer]) -> None:
    schema = json.loads(files("loadtests").joinpath("results.schema.json").read_text())
    results = json.loads(json.dumps(make_results(answers, "ttft_p50=1s", "goodput=1/s")))
    assert [] == [error.message for error in jsonschema_rs.validator_for(schema).iter_errors(results)]
    del results["counts"]["tokens"]
    assert not jsonschema_rs.validator_for(schema).is_valid(results)


def test_no_report_shows_a_secret_that_a_server_repeats() -> None:
    detail = '{"error": "wrong key: sk-secret-1"}'
    failing = replace(make_answer(5, 5, failure="http-401"), detail=detail)
    first = make_results([failing], secrets=("sk-secret-1",))["failures"][0]["first"]
    assert detail.replace("sk-secret-1", "[hidden]") == first
    assert ["key: [hidden]", "sk-secret", "key: sk-", "[hidden] [hidden]"] == [
        redact("key: sk-secr", ["sk-secret-1"]),
        redact("sk-secret", []),
        redact("key: sk-", ["sk-secret-1"]),
        redact("sk-secret-1 tenant", ["sk-secret-1", "tenant"]),
    ]


def test_requests_of_a_trace_that_are_not_sent_are_reported() -> None:
    results = make_results(MANY, trace_at_s=(0.0, 11.0))
    assert ["trace"] == [doubt["name"] for doubt in results["doubts"]]
    assert "1 of 2 requests of the trace is after" in results["doubts"][0]["text"]
    assert 0 == results["exit_code"]


def test_a_lost_worker_is_a_measurement_in_doubt() -> None:
    results = build_results(PLAN, Measurement(Tally(requests=1), measured_s=10.0, lost_workers=1))
    assert (["lost-workers"], INVALID) == ([doubt["name"] for doubt in results["doubts"]], results["exit_code"])


@pytest.mark.parametrize(
    ("cpu", "warm_up_s", "measured_s", "invalid"),
    [(0.95, 0.0, 0.05, [False]), (0.95, 0.0, 1.0, [True]), (0.95, 2.0, 0.05, [True]), (0.9, 0.0, 60.0, [])],
)
def test_a_busy_load_generator_is_a_doubt_unless_the_test_was_too_short(
    cpu: float, warm_up_s: float, measured_s: float, invalid: list[bool]
) -> None:
    measured = Measurement(Tally(requests=1), cpu=cpu, measured_s=measured_s)
    results = build_results(replace(PLAN, warm_up_s=warm_up_s), measured)
    doubts = [(doubt["name"], doubt["invalid"]) for doubt in results["doubts"]]
    code = INVALID if True in invalid else MET
    assert ([("own-cpu", expected) for expected in invalid], code) == (doubts, results["exit_code"])


def test_an_aborted_test_has_failed_and_states_when_and_why() -> None:
    aborted = Aborted(1.234, "--give-up-count 0", 1001, 1)
    plan, measured = replace(PLAN, max_failures=0.5), Measurement(Tally(requests=1001, failures=1), measured_s=1.5)
    results = json.loads(json.dumps(build_results(plan, replace(measured, aborted=aborted))))
    assert (FAILURES, MET) == (results["exit_code"], build_results(plan, measured)["exit_code"])
    assert "aborted after 1.23 of 10 s (--give-up-count 0): 1 of 1,001 requests failed" == describe_verdict(results)
    assert "aborted after 1.23 of 10 s" in render_report(results)
    schema = json.loads(files("loadtests").joinpath("results.schema.json").read_text())
    assert jsonschema_rs.validator_for(schema).is_valid(results)
    del results["given_up"]["limit"]
    assert not jsonschema_rs.validator_for(schema).is_valid(results)


def test_without_usage_events_are_counted_as_tokens_and_reported_so() -> None:
    results = make_results([replace(answer, usage=None) for answer in MANY])
    assert (["no-usage"], 0) == ([doubt["name"] for doubt in results["doubts"]], results["exit_code"])


def test_goodput_counts_answers_that_meet_every_objective() -> None:
    results = make_results(MANY, "ttft_p50=99.95ms")
    assert 500 == results["counts"]["good"]
