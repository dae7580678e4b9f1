"""Test the reading of arguments that were cut off, and their comparison with the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from conformance.check import Context
from conformance.judge.check_registry import gather_checks
from conformance.judge.checks.tools.arguments import read_cut_object
from conformance.proof.editing.answers import edit_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exchange import Exchange
    from conformance.tests.conftest import Good

CHECK = gather_checks()["tools.arguments-fit-schema"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ({}, None, "")),
        ("[1", ({}, None, "")),
        ('{"a', ({}, None, "")),
        ('{"a": 1', ({}, "a", "1")),
        ('{"a": 1, "b": "x', ({"a": 1}, "b", '"x')),
        ('{"a": [1, {"c": 2}], "b"', ({"a": [1, {"c": 2}]}, None, "")),
        ('{"a": true}', ({}, "a", "true")),
        ('{"a": 1,}', ({"a": 1}, None, "")),
    ],
)
def test_complete_fields_and_the_next_one_are_read(text: str, expected: tuple[dict[str, Any], str | None, str]) -> None:
    assert read_cut_object(text) == expected


def _with_call(exchange: Exchange, arguments: str, finish: str) -> Exchange:
    def change(answer: dict[str, Any]) -> None:
        function = {"name": "tool_call_Find-table2", "arguments": arguments}
        choice = answer["choices"][0]
        choice["message"]["tool_calls"] = [{"id": "call-1", "type": "function", "function": function}]
        choice["finish_reason"] = finish

    return edit_answer(exchange, change)


@pytest.mark.parametrize(
    ("arguments", "is_reported"),
    [
        ('{"guests": 3, "tipInPercent"', True),
        ('{"guests": 4, "tipInPercent": 7, ', True),
        ('{"guests": 4, "tipInPercent": 7', False),
        ('{"größe": "gr', False),
        ('{"größe": "gr"}', False),
        ('{"größe": "gro\\u00d', False),
        ('{"größe": "gro\ufffd', False),
        ('{"größe": "klein', True),
        ('{"größe": "groß und weit', True),
        ('{"remark": nul', False),
    ],
)
def test_arguments_that_were_cut_off_are_judged_as_far_as_they_go(
    read_good: Callable[[str], Good], arguments: str, is_reported: bool
) -> None:
    good = read_good("mindie-2.3")
    scenario = next(item for item in good.plan.scenarios if item.id == "tool-schemas")
    context = Context(good.contract, good.validator, good.model, scenario, scenario.steps[0])
    exchange = _with_call(good.exchanges["tool-schemas", "plain"], arguments, "length")
    assert bool(list(CHECK.judge(exchange, context))) == is_reported
