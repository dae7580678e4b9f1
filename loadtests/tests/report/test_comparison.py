"""The comparison of two tests shows clear changes, and invalid results are rejected."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from loadtests.cli.compare_command import compare
from loadtests.report.comparison import compare_results
from loadtests.tests.example_results import MANY, make_answer, make_results

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"schema_version": 2}, "it has schema version 2, and this chatproof reads 1: update chatproof"),
        ({"counts": {}}, "/counts"),
        ({"latencies_ms": {"TTFT": {}}}, "/latencies_ms/TTFT"),
    ],
)
def test_incomplete_results_are_not_compared(tmp_path: Path, change: dict[str, Any], text: str) -> None:
    results = json.loads(json.dumps(make_results(MANY)))
    (tmp_path / "good.json").write_text(json.dumps(results))
    (tmp_path / "bad.json").write_text(json.dumps(results | change))
    (tmp_path / "none.json").write_text("{")
    (tmp_path / "other.json").write_text('{"schema_version": 4}')
    good = str(tmp_path / "good.json")
    assert 0 == CliRunner().invoke(compare, [good, good]).exit_code
    for name, message in (
        ("bad", text),
        ("none", "invalid JSON at line 1; the file may be incomplete: copy or write it again"),
        ("other", "not the results of a load test: expected results.json of a report folder"),
        ("gone", "No such file"),
    ):
        result = CliRunner().invoke(compare, [good, str(tmp_path / f"{name}.json")])
        assert (2, 1, True) == (result.exit_code, result.output.count("Error:"), message in result.output)


def test_two_tests_of_one_server_do_not_differ_and_a_slower_server_is_worse() -> None:
    rng = random.Random(1)
    one, other = (make_results([make_answer(at * 10, rng.gauss(100, 10)) for at in range(900)]) for _ in "ab")
    slower = make_results([make_answer(at * 10, rng.gauss(130, 10)) for at in range(900)])
    named = {change.name: change.verdict for change in compare_results(one, other)}
    assert {"unclear"} == {named["TTFT p50 ms"], named["TTFT p95 ms"]}
    assert "worse" == {change.name: change.verdict for change in compare_results(one, slower)}["TTFT p50 ms"]
    assert "better" == {change.name: change.verdict for change in compare_results(slower, one)}["TTFT p50 ms"]


def test_failed_answers_are_not_in_the_rate_of_answers() -> None:
    good = make_results([make_answer(at * 10, 5) for at in range(900)])
    failing = {**good, "seconds": [{**second, "failures": second["answers"]} for second in good["seconds"]]}
    (rate,) = (change for change in compare_results(good, failing) if change.name == "answers/s")
    assert (0.0, "worse") == (rate.after.value, rate.verdict)
