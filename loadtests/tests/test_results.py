"""Results: percentiles, exit codes, doubts and verdicts, from answers whose times are known."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING

import jsonschema_rs
import pytest

from loadtests.measure.abort_limits import GivenUp
from loadtests.measure.tally import Tally
from loadtests.report import results
from loadtests.report.html import page
from loadtests.secret import hidden
from loadtests.shape.arrivals import Traced
from loadtests.tests.built import MANY, answer, built, settings

if TYPE_CHECKING:
    from loadtests.client.answer import Answer


def test_percentiles_are_those_of_the_values_within_a_bucket() -> None:
    ttft = built(MANY)["latencies_ms"]["TTFT"]
    values = sorted(50 + at / 10 for at in range(1000))
    for name, share in (("50", 0.5), ("99", 0.99)):
        assert abs(ttft["percentiles"][name] / values[round(share * 1000) - 1] - 1) < 0.01
    assert (1000, 50.0, 149.9) == (ttft["count"], ttft["min"], ttft["max"])


@pytest.mark.parametrize(
    ("bounds", "answers", "code"),
    [
        (("ttft_p95=200ms",), MANY, results.MET),
        ((), MANY, results.MET),
        (("ttft_p95=60ms",), MANY, results.MISSED),
        (("ttft_p95=200ms",), MANY[:20], results.INVALID),
        (("goodput=1/s",), [*MANY, answer(5, 5, failure="http-500")], results.FAILURES),
        ((), [], results.FAILURES),
    ],
)
def test_the_exit_code_says_what_happened(bounds: tuple[str, ...], answers: list[Answer], code: int) -> None:
    assert code == built(answers, *bounds)["exit_code"]


@pytest.mark.parametrize(
    ("bounds", "answers", "words"),
    [
        ((), MANY, "nothing failed, and no objective was stated"),
        (("ttft_p95=60ms",), MANY, "an objective is missed"),
        ((), [*MANY, answer(5, 5, failure="http-500")], "1 of 1001 requests failed"),
        ((), [], "no request was measured"),
        ((), [answer(5, 5, failure="connect")] * 3, "nothing answers at http://h: <script>alert(1)</script>"),
        ((), [*MANY, answer(5, 5, failure="connect")], "1 of 1001 requests failed"),
    ],
)
def test_the_verdict_says_what_the_exit_code_says(bounds: tuple[str, ...], answers: list[Answer], words: str) -> None:
    assert words == results.verdict(built(answers, *bounds))


@pytest.mark.parametrize("answers", [MANY, [], [answer(5, 5, failure="http-500")]])
def test_results_fit_their_schema(answers: list[Answer]) -> None:
    schema = json.loads(files("loadtests").joinpath("results.schema.json").read_text())
    made = json.loads(json.dumps(built(answers, "ttft_p50=1s", "goodput=1/s")))
    assert [] == [error.message for error in jsonschema_rs.validator_for(schema).iter_errors(made)]
    del made["counts"]["tokens"]
    assert not jsonschema_rs.validator_for(schema).is_valid(made)


def test_no_report_shows_a_secret_that_a_server_repeats() -> None:
    said = '{"error": "wrong key: sk-secret-1"}'
    failing = replace(answer(5, 5, failure="http-401"), detail=said)
    assert said.replace("sk-secret-1", "[hidden]") == built([failing], secrets=("sk-secret-1",))["failures"][0]["first"]
    assert ["key: [hidden]", "sk-secret", "key: sk-", "[hidden] [hidden]"] == [
        hidden("key: sk-secr", ["sk-secret-1"]),
        hidden("sk-secret", []),
        hidden("key: sk-", ["sk-secret-1"]),
        hidden("sk-secret-1 tenant", ["sk-secret-1", "tenant"]),
    ]


def test_what_of_a_trace_is_not_sent_is_said() -> None:
    made = built(MANY, trace=(Traced(0.0, 1, 1), Traced(11.0, 1, 1)))
    assert ["trace"] == [doubt["name"] for doubt in made["doubts"]]
    assert "1 of the trace's 2 requests" in made["doubts"][0]["text"]
    assert 0 == made["exit_code"]


def test_a_lost_worker_is_a_measurement_in_doubt() -> None:
    made = results.build(settings(), Tally(requests=1), {}, {}, 0.1, 10.0, {}, 1)
    assert (["lost-workers"], results.INVALID) == ([doubt["name"] for doubt in made["doubts"]], made["exit_code"])


@pytest.mark.parametrize(
    ("cpu", "warm_up_s", "measured_s", "invalid"),
    [(0.95, 0.0, 0.05, [False]), (0.95, 0.0, 1.0, [True]), (0.95, 2.0, 0.05, [True]), (0.9, 0.0, 60.0, [])],
)
def test_a_busy_load_generator_is_a_doubt_once_there_was_time_to_tell(
    cpu: float, warm_up_s: float, measured_s: float, invalid: list[bool]
) -> None:
    made = results.build(settings(warm_up_s=warm_up_s), Tally(requests=1), {}, {}, cpu, measured_s, {})
    found = [(doubt["name"], doubt["invalid"]) for doubt in made["doubts"]]
    assert ([("own-cpu", each) for each in invalid], 4 if True in invalid else 0) == (found, made["exit_code"])


def test_a_test_that_was_given_up_has_failed_and_says_when_and_why() -> None:
    found = GivenUp(1.234, "--give-up-count 0", 1001, 1)
    tally, asked = Tally(requests=1001, failures=1), settings(max_failures=0.5)
    made = json.loads(json.dumps(results.build(asked, tally, {}, {}, 0.1, 1.5, {}, 0, found)))
    assert (results.FAILURES, 0) == (made["exit_code"], results.build(asked, tally, {}, {}, 0.1, 1.5, {})["exit_code"])
    assert "given up after 1.23 of 10 s (--give-up-count 0): 1 of 1001 requests failed" == results.verdict(made)
    assert "given up after 1.23 of 10 s" in page(made)
    schema = json.loads(files("loadtests").joinpath("results.schema.json").read_text())
    assert jsonschema_rs.validator_for(schema).is_valid(made)
    del made["given_up"]["limit"]
    assert not jsonschema_rs.validator_for(schema).is_valid(made)


def test_tokens_that_no_usage_tells_are_said_to_be_events() -> None:
    made = built([replace(each, usage=None) for each in MANY])
    assert (["no-usage"], 0) == ([doubt["name"] for doubt in made["doubts"]], made["exit_code"])


def test_goodput_counts_answers_that_keep_every_bound() -> None:
    made = built(MANY, "ttft_p50=99.95ms")
    assert 500 == made["counts"]["good"]
