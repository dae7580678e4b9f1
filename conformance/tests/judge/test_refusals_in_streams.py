"""A request that may be refused may also be refused in its stream; one that must be answered may not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.proof.editing.responses import with_body

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import Good

REFUSAL = b'data: {"error": {"message": "unknown keyword", "type": "BadRequestError", "code": 400}}\n\ndata: [DONE]\n\n'
CHECKS = ("stream.no-error-event", "stream.one-choice-by-default")


@pytest.mark.parametrize(("expected", "reported"), [("either", []), ("answer", ["stream.no-error-event"])])
def test_an_error_in_place_of_a_stream_is_reported_once_and_only_if_the_request_must_be_answered(
    read_good: Callable[[str], Good], expected: str, reported: list[str]
) -> None:
    good = read_good("openai")
    judged = [
        item
        for item in good.plan.assertions
        if item.check.id in CHECKS and item.step.expect == expected and not (item.step.body or {}).get("n")
    ]
    key = next((item.scenario.id, item.step.name) for item in judged if item.check.id == CHECKS[1])
    judged = [item for item in judged if (item.scenario.id, item.step.name) == key]
    assert set(CHECKS) == {item.check.id for item in judged}
    found = good.judge({key: with_body(good.exchanges[key], REFUSAL)}, judged)
    assert reported == [judgement.assertion.check.id for judgement in found if judgement.findings]
