"""`chatproof explain` and `chatproof completion`: every requirement is explained, and words are completed."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from conformance.judge.check_registry import gather_checks
from conformance.report.explanations import SERVERS, find_explanation

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import CommandResult


def test_every_check_has_an_explanation_with_advice_for_every_server() -> None:
    for check in gather_checks():
        explanation = find_explanation(check)
        assert explanation is not None, check
        assert set(SERVERS) == set(explanation.fix), check
        assert "" not in (explanation.matters, explanation.affects, *explanation.fix.values()), check


def test_every_own_explanation_is_of_a_check_and_differs_from_its_topic() -> None:
    from conformance.report import explanations

    content = explanations._read()
    assert {check.topic for check in gather_checks().values()} == set(content["topics"])
    assert set() == set(content["checks"]) - set(gather_checks())
    assert {"matters", "affects", "fix"} >= {part for own in content["checks"].values() for part in own}


def test_a_requirement_is_explained_with_its_dialects_and_fixes(chatproof: Callable[..., CommandResult]) -> None:
    result = chatproof("explain", "stream.done-last")
    assert (0, "") == (result.code, result.stderr)
    for text in (
        "mindie-2.3: MUST, mindie-llm-2.3#stream/done",
        "why it matters",
        "who is affected",
        "FastAPI",
        "[DONE]",
    ):
        assert text in result.stdout
    assert "ovms-2024" not in chatproof("explain", "stream.done-last", "--dialect", "mindie").stdout


def test_a_requirement_of_a_parameter_is_explained_with_its_sentences(chatproof: Callable[..., CommandResult]) -> None:
    result = chatproof("explain", "parameters.top_k.minimum-outside", "--dialect", "mindie")
    assert 0 == result.code
    assert "mindie-2.3: mindie-llm-2.3#request/top_k" in result.stdout


@pytest.mark.parametrize("name", ["stream.done", "parameters.nothing.type", "x"])
def test_an_unknown_requirement_gives_2_and_one_line(chatproof: Callable[..., CommandResult], name: str) -> None:
    result = chatproof("explain", name)
    assert (2, "", 1) == (result.code, result.stdout, result.stderr.count("\n"))
    assert result.stderr.startswith(f"chatproof: unknown requirement '{name}'; ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_completion_is_printed_for_a_shell(chatproof: Callable[..., CommandResult], shell: str) -> None:
    assert "_CHATPROOF_COMPLETE" in chatproof("completion", shell).stdout


@pytest.mark.takes_turns
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("chatproof check --dialect min", ["mindie", "mindie-1.0", "mindie-2.3", "mindie-vllm", "mindie-vllm-1.0"]),
        ("chatproof check --topic stru", ["structured"]),
        ("chatproof check --report ht", ["html="]),
        ("chatproof explain stream.done-l", ["stream.done-last"]),
        ("chatproof expl", ["explain"]),
    ],
)
def test_a_word_is_completed(line: str, expected: list[str]) -> None:
    words = line.split()
    environment = {
        **os.environ,
        "_CHATPROOF_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    command = [sys.executable, "-c", "from chatproof import main; main(prog_name='chatproof')"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert expected == [item.partition(",")[2] for item in done.stdout.splitlines()]
