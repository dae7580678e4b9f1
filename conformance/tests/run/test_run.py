"""A run sends every step once, and reports errors and progress."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from conformance.errors import HarnessError
from conformance.scenario import Step
from conformance.tests.runs import ScriptedClient, answered, execute, make_run, scenario

if TYPE_CHECKING:
    from conformance.client.call import Call
    from conformance.exchange import Exchange


def test_every_step_is_sent_once_and_in_order() -> None:
    client = ScriptedClient()
    steps = tuple(Step(name, body={}) for name in ("a", "b", "c"))
    record = execute(client, scenario("one", *steps), scenario("two", *steps))
    assert [f"one/{name}" for name in "abc"] == [
        identifier for identifier in client.ids() if identifier.startswith("one")
    ]
    assert [f"two/{name}" for name in "abc"] == [
        identifier for identifier in client.ids() if identifier.startswith("two")
    ]
    assert {(name, step.name) for name in ("one", "two") for step in steps} == set(record.exchanges)
    assert (record.requests, record.missing, record.exhausted) == (6, {}, None)


def test_a_harness_error_ends_the_run_unchanged() -> None:
    def answer(call: Call) -> Exchange:
        raise HarnessError("call one/main cannot be sent")

    with pytest.raises(HarnessError, match="cannot be sent"):
        execute(ScriptedClient(answer), scenario("one"), scenario("two", Step("a"), Step("b"), together=True))


def test_progress_is_reported_after_every_exchange() -> None:
    seen: list[int] = []
    scenarios = (scenario(f"s{at}") for at in range(4))
    run = make_run(ScriptedClient(), *scenarios, on_progress=lambda record: seen.append(len(record.exchanges)))
    asyncio.run(run.execute())
    assert seen == [1, 2, 3, 4]


@pytest.mark.parametrize(("status", "text", "expected"), [(200, "5", 1), (200, "6", 2), (400, "5", 2), (500, "5", 2)])
def test_parts_are_sent_alone_unless_the_whole_is_answered_as_demanded(status: int, text: str, expected: int) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "code", "schema": {"enum": [5]}}}
    whole = scenario("whole", Step("form", body={"response_format": form}))
    part = scenario("part", Step("main", body={}), unless_answered="whole")
    client = ScriptedClient(lambda call: answered(call, status, text))
    execute(client, whole, part)
    assert expected == len(client.calls)
