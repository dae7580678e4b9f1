"""One run that is judged by several dialects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jsonschema_rs

from conformance.replay.rejudge import judge_again
from conformance.report.results import compare_dialects, load_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import CommandResult

ONLY = ("--only", "greedy", "--only", "temperature-2.1-*")


def test_equal_requests_are_sent_once(chatproof: Callable[..., CommandResult], honest: str) -> None:
    alone = chatproof("check", honest, "--dialect", "mindie", *ONLY).results
    both = chatproof("check", honest, "--dialect", "mindie", "--also", "mindie-vllm", *ONLY).results
    (other,) = both["also"]
    assert other["target"]["dialect"] == "mindie-vllm-1.0"
    assert other["requests"] == 0  # 2.1 is sent once: one dialect refuses it, the other accepts it
    assert alone["run"]["requests"] == both["run"]["requests"]
    assert {exchange["id"] for exchange in alone["exchanges"]} == {exchange["id"] for exchange in both["exchanges"]}
    assert list(jsonschema_rs.validator_for(load_schema()).iter_errors(both)) == []


def test_the_verdict_is_that_of_the_first_dialect_and_the_other_has_a_column(
    chatproof: Callable[..., CommandResult], honest: str
) -> None:
    result = chatproof("check", honest, "--dialect", "mindie", "--also", "mindie-vllm", *ONLY)
    (other,) = result.results["also"]
    differences = [(identity, one, two) for identity, one, two, _ in compare_dialects(result.results, other)]
    assert result.code == 0
    assert (result.results["verdict"], other["verdict"]) == ("conformant", "nonconformant")
    assert differences == [("parameters.temperature.value-inside", "", "FAIL")]
    assert "also judged by mindie-vllm-1.0: nonconformant, 0 more requests" in result.stdout


def test_requests_of_the_other_dialect_only_have_its_prefix(
    chatproof: Callable[..., CommandResult], honest: str
) -> None:
    result = chatproof("check", honest, "--dialect", "mindie", "--also", "ovms", "--only", "parameters.stream*")
    new = [exchange["id"] for exchange in result.results["exchanges"] if exchange["id"].startswith("ovms-2024:")]
    assert result.results["also"][0]["requests"] == len(new) > 0
    assert result.results["run"] == judge_again(result.results).outcome.results["run"]
