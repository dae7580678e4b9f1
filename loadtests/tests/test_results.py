"""Results: percentiles, exit codes, merging, comparison and the page, from answers whose times are known."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from click.testing import CliRunner

from loadtests import latency, results
from loadtests.answer import Answer
from loadtests.arrivals import Traced
from loadtests.chart import Axis, Series, lines
from loadtests.compare import differences
from loadtests.compare_command import compare
from loadtests.limits import GivenUp
from loadtests.live import fresh
from loadtests.objectives import met_by, parse
from loadtests.page import page
from loadtests.secret import hidden
from loadtests.tally import Tally

if TYPE_CHECKING:
    from pathlib import Path

MS = 1_000_000


def answer(at_ms: float, ttft_ms: float, gaps: int = 4, gap_ms: float = 20.0, failure: str | None = None) -> Answer:
    sent = round(at_ms * MS)
    stamps = [sent + round((ttft_ms + gap_ms * number) * MS) for number in range(gaps + 1)]
    return Answer(sent, sent, None, stamps[-1] + MS, 200, failure, "<script>alert(1)</script>" if failure else "",
                  stamps, [1] * len(stamps), usage={"completion_tokens": gaps + 1})  # fmt: skip


def settings(*bounds: str, **others: Any) -> Any:
    made = SimpleNamespace(
        objectives=tuple(parse(each) for each in bounds), base="http://h", contract=SimpleNamespace(name="openai"),
        model="m", open=False, users=3, rate=None, trace=(), process="poisson", shape="steady", seed=1, warm_up_s=0.0,
        seconds=10.0, max_failures=0.0, secrets=(),
    )  # fmt: skip
    made.__dict__.update(others)
    return made


def built(answers: list[Answer], *bounds: str, **others: Any) -> dict[str, Any]:
    tally, asked = Tally(), settings(*bounds, **others)
    rows: dict[str, dict[float, int]] = {}
    sums: dict[str, list[float]] = {}
    for each in answers:
        tally.add(replace(each), 0, met_by(asked.objectives))
        if each.succeeded:
            gaps = [(later - earlier) / latency.MS for earlier, later in pairwise(each.stamps_ns)]
            for name, value in [*latency.of(each), *(("ITL", gap) for gap in gaps)]:
                rows.setdefault(name, {}).setdefault(latency.bucket(value), 0)
                rows[name][latency.bucket(value)] += 1
                sums.setdefault(name, []).append(value)
    extremes = {name: (min(values), max(values), sum(values)) for name, values in sums.items()}
    return results.build(asked, tally, {name: list(row.items()) for name, row in rows.items()}, extremes, 0.1, 10.0, {})


MANY = [answer(at * 10, 50 + at / 10) for at in range(1000)]


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
    assert ["trace"] == [each["name"] for each in made["doubts"]]
    assert "1 of the trace's 2 requests" in made["doubts"][0]["text"]
    assert 0 == made["exit_code"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema_version": 2}, "another version"),
        ({"counts": {}}, "/counts"),
        ({"latencies_ms": {"TTFT": {}}}, "/latencies_ms/TTFT"),
    ],
)
def test_what_is_not_whole_is_not_compared(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    made = json.loads(json.dumps(built(MANY)))
    (tmp_path / "good.json").write_text(json.dumps(made))
    (tmp_path / "bad.json").write_text(json.dumps(made | change))
    (tmp_path / "none.json").write_text("{")
    good = str(tmp_path / "good.json")
    assert 0 == CliRunner().invoke(compare, [good, good]).exit_code
    for name, said in (("bad", words), ("none", "is no JSON"), ("gone", "No such file")):
        told = CliRunner().invoke(compare, [good, str(tmp_path / f"{name}.json")])
        assert (2, 1, True) == (told.exit_code, told.output.count("Error:"), said in told.output)


def test_a_lost_worker_is_a_measurement_in_doubt() -> None:
    made = results.build(settings(), Tally(requests=1), {}, {}, 0.1, 10.0, {}, 1)
    assert (["lost-workers"], results.INVALID) == ([each["name"] for each in made["doubts"]], made["exit_code"])


@pytest.mark.parametrize(
    ("cpu", "warm_up_s", "measured_s", "invalid"),
    [(0.95, 0.0, 0.05, [False]), (0.95, 0.0, 1.0, [True]), (0.95, 2.0, 0.05, [True]), (0.9, 0.0, 60.0, [])],
)
def test_a_busy_load_generator_is_a_doubt_once_there_was_time_to_tell(
    cpu: float, warm_up_s: float, measured_s: float, invalid: list[bool]
) -> None:
    made = results.build(settings(warm_up_s=warm_up_s), Tally(requests=1), {}, {}, cpu, measured_s, {})
    found = [(each["name"], each["invalid"]) for each in made["doubts"]]
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
    assert (["no-usage"], 0) == ([each["name"] for each in made["doubts"]], made["exit_code"])


def test_goodput_counts_answers_that_keep_every_bound() -> None:
    made = built(MANY, "ttft_p50=99.95ms")
    assert 500 == made["counts"]["good"]


def counted(*shares: list[Answer]) -> dict[str, Any]:
    """What a master knows after its workers have counted their shares."""
    master = Tally()
    for share in shares:
        worker = Tally()
        for each in share:
            worker.add(replace(each), 0, met_by(()))
        master.merge(worker.take())
        assert 0 == worker.requests
    made = master.take()
    for second in made["seconds"].values():
        second["ttft_ms"].sort()
        second["gap_ms"].sort()
    return made


def test_what_workers_counted_adds_up_to_what_one_would_have_counted() -> None:
    answers = [*MANY[:100], answer(5, 5, failure="cut-off")]
    one, two = counted(answers), counted(answers[::2], answers[1::2])
    longest = [[each["longest_ms"] for each in made.pop("worst")] for made in (one, two)]
    assert one == two
    assert longest[0] == longest[1]


def test_what_was_sent_in_the_warm_up_is_in_no_latency() -> None:
    tally = Tally()
    tally.add(replace(answer(0, 50)), 60 * MS, met_by(()))
    assert (0, 1) == (tally.requests, tally.seconds[0].answers)


def test_a_running_stream_is_counted_as_it_is_seen_and_once_however_often_it_is_looked_at() -> None:
    whole, cut = answer(0, 50, gaps=200), answer(0, 50, gaps=200)
    tallies = Tally(), Tally()
    stamps, counts = cut.stamps_ns, cut.counts
    for seen in (1, 2, 2, 90, 150):
        cut.stamps_ns, cut.counts = stamps[:seen], counts[:seen]
        if (new := fresh(cut, 0)) is not None:
            tallies[1].hear(new)
    assert (0, 150, 0) == (tallies[1].requests, tallies[1].reads, tallies[1].tokens)
    assert 149 == sum(count for second in tallies[1].seconds.values() for count in second.gap_ms.values())
    cut.stamps_ns, cut.counts = stamps, counts
    for tally, each in zip(tallies, (whole, cut), strict=True):
        tally.add(each, 0, met_by(()))
    assert tallies[0] == tallies[1]
    assert 201 == sum(second.tokens for second in tallies[0].seconds.values())


def test_a_stream_sent_in_the_warm_up_counts_with_the_gaps_that_end_after_it() -> None:
    new = fresh(answer(0, 50, gaps=10), 151 * MS)
    assert new is not None
    assert (None, 5, {0: {20.0: 5}}) == (new.ttft_ms, new.reads, {at: dict(each) for at, each in new.gaps_ms.items()})


def test_two_draws_of_one_server_do_not_differ_and_a_slower_one_is_worse() -> None:
    rng = random.Random(1)
    one, other = (built([answer(at * 10, rng.gauss(100, 10)) for at in range(900)]) for _ in "ab")
    slower = built([answer(at * 10, rng.gauss(130, 10)) for at in range(900)])
    named = {each.name: each.verdict for each in differences(one, other)}
    assert {"unclear"} == {named["TTFT p50 ms"], named["TTFT p95 ms"]}
    assert "worse" == {each.name: each.verdict for each in differences(one, slower)}["TTFT p50 ms"]
    assert "better" == {each.name: each.verdict for each in differences(slower, one)}["TTFT p50 ms"]


def test_answers_that_fail_are_no_rate_of_answers() -> None:
    good = built([answer(at * 10, 5) for at in range(900)])
    failing = {**good, "seconds": [{**second, "failures": second["answers"]} for second in good["seconds"]]}
    (found,) = (each for each in differences(good, failing) if each.name == "answers/s")
    assert (0.0, "worse") == (found.after.value, found.verdict)


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
