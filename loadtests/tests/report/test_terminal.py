"""The tables of a load test in the terminal: one line for each fact, whatever a server sends."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from loadtests.tests.example_results import MANY, make_answer, make_results

HOSTILE = "\x1b[2J\x1b]0;owned\x07\nobjectives met"
PROGRAM = (
    "import json, sys; from loadtests.report.terminal import print_report; print_report(json.load(sys.stdin), None)"
)


def print_in_a_child(results: dict[str, Any]) -> str:
    """Print a report in a process of its own, because Locust replaces modules when it is imported."""
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, input=json.dumps(results), capture_output=True, text=True, check=True).stdout


def test_text_of_a_server_is_printable_and_on_one_line() -> None:
    results = make_results([make_answer(5, 5, failure="http-500"), *MANY])
    results["failures"][0]["first"] = HOSTILE
    results["doubts"] = [{"name": "warm-up", "text": f"failed in the warm-up: {HOSTILE}", "invalid": False}]
    printed = print_in_a_child(results)
    assert printed.replace("\n", "").isprintable()
    assert not [line for line in printed.splitlines() if line.startswith("objectives met")]
    assert "note: failed in the warm-up: ?[2J?]0;owned??objectives met" in printed


def test_nouns_agree_with_their_numbers() -> None:
    results = make_results([make_answer(5, 5)])
    results["load"] |= {"loop": "closed", "users": 1}
    results["conformance"] |= {"streams_judged": 1, "findings": []}
    printed = print_in_a_child(results)
    assert ", 1 user" in printed
    assert "1 request, 0 failed" in printed
    assert "1 stream checked" in printed
