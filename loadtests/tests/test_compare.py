"""Comparison: what differs between two tests, and what cannot be compared."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from loadtests.cli.compare_command import compare
from loadtests.report.comparison import differences
from loadtests.tests.built import MANY, answer, built

if TYPE_CHECKING:
    from pathlib import Path


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


def test_two_draws_of_one_server_do_not_differ_and_a_slower_one_is_worse() -> None:
    rng = random.Random(1)
    one, other = (built([answer(at * 10, rng.gauss(100, 10)) for at in range(900)]) for _ in "ab")
    slower = built([answer(at * 10, rng.gauss(130, 10)) for at in range(900)])
    named = {difference.name: difference.verdict for difference in differences(one, other)}
    assert {"unclear"} == {named["TTFT p50 ms"], named["TTFT p95 ms"]}
    assert "worse" == {difference.name: difference.verdict for difference in differences(one, slower)}["TTFT p50 ms"]
    assert "better" == {difference.name: difference.verdict for difference in differences(slower, one)}["TTFT p50 ms"]


def test_answers_that_fail_are_no_rate_of_answers() -> None:
    good = built([answer(at * 10, 5) for at in range(900)])
    failing = {**good, "seconds": [{**second, "failures": second["answers"]} for second in good["seconds"]]}
    (found,) = (difference for difference in differences(good, failing) if difference.name == "answers/s")
    assert (0.0, "worse") == (found.after.value, found.verdict)
