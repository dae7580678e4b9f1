"""Test that findings state where the defect is, what was expected, and what the server sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.proof.editing.answers import edit_text, edit_usage
from conformance.proof.editing.responses import accept, cut, refuse, with_json
from conformance.proof.editing.streams import edit_frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exchange import Exchange
    from conformance.tests.conftest import Good


def add_to_total(exchange: Exchange) -> Exchange:
    """Make the total one more than the sum."""
    return edit_usage(exchange, lambda usage: usage.update(total_tokens=usage["total_tokens"] + 1))


MESSAGES: dict[tuple[str, str], tuple[Callable[[Exchange], Exchange], str]] = {
    ("stream.done-last", "greedy/streamed"): (lambda e: edit_frames(e, lambda frames: frames[:-1]), "[DONE]"),
    ("usage.total-is-sum", "greedy/plain"): (add_to_total, "/usage/total_tokens"),
    ("parameters.invalid-refused", "temperature-2.1-refused/main"): (
        accept,
        "temperature 2.1 is refused: a status of 4xx",
    ),
    ("parameters.valid-accepted", "top_k-0-accepted/main"): (refuse, "top_k 0 is accepted"),
    ("answer.no-error-inside", "greedy/plain"): (lambda e: with_json(e, {"error": "it failed"}), "it failed"),
    ("stream.accepted", "greedy/streamed"): (accept, "application/json"),
    ("answer.accepted", "greedy/plain"): (cut, "(cut: "),
    ("stop.not-in-output", "stop-text/stopped"): (
        lambda e: edit_text(e, lambda text: f"{text}{stop_of(e)}"),
        "content",
    ),
}


def stop_of(exchange: Exchange) -> str:
    """Return the stop string of the request."""
    stop: str = exchange.request_json["stop"]
    return stop


@pytest.mark.parametrize(("check", "exchange"), MESSAGES)
def test_a_finding_states_the_defect(read_good: Callable[[str], Good], check: str, exchange: str) -> None:
    change, message = MESSAGES[check, exchange]
    good = read_good("mindie-2.3")
    scenario, step = exchange.split("/")
    (assertion,) = (
        assertion
        for assertion in good.plan.assertions
        if (assertion.check.id, assertion.scenario.id, assertion.step.name) == (check, scenario, step)
    )
    (judgement,) = good.judge({(scenario, step): change(good.exchanges[scenario, step])}, [assertion])
    shown = [f"{finding.where} {finding.expected} {finding.got}" for finding in judgement.findings]
    assert any(message in text for text in shown), shown
