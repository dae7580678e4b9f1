"""One run, judged by several dialects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jsonschema_rs

from conformance.replay.rejudge import judge_again
from conformance.report.results import compare_dialects, load_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import Said

ONLY = ("--only", "greedy", "--only", "temperature-2.1-*")


def test_requests_that_agree_are_made_once(chatproof: Callable[..., Said], honest: str) -> None:
    alone = chatproof("check", honest, "--dialect", "mindie", *ONLY).results
    both = chatproof("check", honest, "--dialect", "mindie", "--also", "mindie-vllm", *ONLY).results
    (other,) = both["also"]
    assert other["target"]["dialect"] == "mindie-vllm-1.0"
    assert other["requests"] == 0  # 2.1 is sent once: one dialect refuses it, the other accepts it
    assert alone["run"]["requests"] == both["run"]["requests"]
    assert {exchange["id"] for exchange in alone["exchanges"]} == {exchange["id"] for exchange in both["exchanges"]}
    assert list(jsonschema_rs.validator_for(load_schema()).iter_errors(both)) == []


def test_the_verdict_is_the_first_dialects_and_the_other_has_a_column(
    chatproof: Callable[..., Said], honest: str
) -> None:
    said = chatproof("check", honest, "--dialect", "mindie", "--also", "mindie-vllm", *ONLY)
    (other,) = said.results["also"]
    found = [(identity, one, two) for identity, one, two, _ in compare_dialects(said.results, other)]
    assert said.code == 0
    assert (said.results["verdict"], other["verdict"]) == ("conformant", "nonconformant")
    assert found == [("parameters.temperature.value-inside", "", "FAIL")]
    assert "also judged by mindie-vllm-1.0: nonconformant, 0 more requests" in said.stdout


def test_what_only_the_other_dialect_asks_for_is_sent_and_told_apart(
    chatproof: Callable[..., Said], honest: str
) -> None:
    said = chatproof("check", honest, "--dialect", "mindie", "--also", "ovms", "--only", "parameters.stream*")
    new = [exchange["id"] for exchange in said.results["exchanges"] if exchange["id"].startswith("ovms-2024:")]
    assert said.results["also"][0]["requests"] == len(new) > 0
    assert said.results["run"] == judge_again(said.results).outcome.results["run"]
