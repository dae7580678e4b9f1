"""A server that serves a small context is not at fault; one that refuses anything else is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.proof.editing.responses import with_json, with_status

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import Good

LONG, SHORT = "prompts-of-pages/long", "greedy/plain"
NAMED = "the prompt has 612 tokens, but at most 511 fit"


@pytest.mark.parametrize(
    ("exchange", "message", "expected"),
    [
        (LONG, NAMED, False),
        (LONG, "This model's maximum context length is 512 tokens.", False),
        (LONG, "the prompt is not allowed", True),
        (LONG, "too many tokens", True),
        (LONG, "the context has 99999 tokens at most", True),
        (SHORT, NAMED, True),
    ],
)
def test_only_a_long_prompt_may_be_refused_for_its_length(
    read_good: Callable[[str], Good], exchange: str, message: str, expected: bool
) -> None:
    good = read_good("mindie-2.3")
    scenario, _, step = exchange.partition("/")
    key = scenario, step
    refused = {key: with_status(with_json(good.exchanges[key], {"error": message}), 422)}
    assertions = [
        item
        for item in good.plan.assertions
        if item.check.id == "answer.accepted" and (item.scenario.id, item.step.name) == key
    ]
    (judgement,) = good.judge(refused, assertions)
    assert expected == bool(judgement.findings)
