"""The scheduler: how many steps are sent at the same time, and in which order."""

from __future__ import annotations

import pytest

from conformance.scenario import Step
from conformance.tests.runs import ScriptedClient, execute, scenario


@pytest.mark.parametrize("concurrency", [1, 3])
def test_the_number_of_concurrent_requests_is_limited(concurrency: int) -> None:
    client = ScriptedClient()
    execute(client, *(scenario(f"s{at}") for at in range(10)), concurrency=concurrency)
    assert concurrency == client.most_at_once


def test_together_steps_are_sent_at_the_same_time() -> None:
    client = ScriptedClient()
    execute(client, scenario("all", *(Step(f"s{at}", body={}) for at in range(6)), together=True), concurrency=1)
    assert client.most_at_once == 6


def test_scenarios_that_disconnect_run_one_after_another_and_next_to_all_others() -> None:
    client = ScriptedClient()
    steps = tuple(Step(name, body={}, stop_after_events=2) for name in ("left", "left-again"))
    execute(client, *(scenario(f"leaves{at}", *steps) for at in range(3)), scenario("stays", *map(Step, "abc")))
    order = [identifier.partition("/")[0] for identifier in client.ids() if identifier.startswith("leaves")]
    assert [name for at in range(3) for name in [f"leaves{at}"] * 2] == order
    assert 2 == client.most_at_once


def test_together_steps_take_the_slots_of_the_others() -> None:
    client = ScriptedClient()
    together = [scenario(f"all{at}", *(Step(f"s{it}", body={}) for it in range(6)), together=True) for at in range(3)]
    execute(client, *(scenario(f"s{at}") for at in range(20)), *together, concurrency=4)
    assert (client.most_at_once, len(client.calls)) == (6, 38)


def test_crowd_steps_are_sent_together_after_the_others() -> None:
    client = ScriptedClient()
    crowd = (Step(f"crowd-{at}", body={}, crowd=True) for at in range(5))
    execute(client, scenario("busy", Step("first", body={}), *crowd, Step("second", body={}), alone=True))
    assert (["busy/first", "busy/second"], 5) == (client.ids()[:2], client.most_at_once)


@pytest.mark.parametrize("others", [0, 1, 40])
def test_the_rounds_of_a_spread_scenario_begin_and_end_the_run(others: int) -> None:
    client = ScriptedClient()
    rounds = (Step(f"a.{number}", body={}, part="a", round=number) for number in range(1, 5))
    spread = scenario("anchors", *rounds, rounds=4, spread=True)
    record = execute(client, spread, *(scenario(f"s{at}") for at in range(others)))
    assert ("anchors/a.1", "anchors/a.4") == (client.ids()[0], client.ids()[-1])
    sent = [identifier for identifier in client.ids() if identifier.startswith("anchors")]
    assert sorted(sent) == sent
    assert {f"a.{number}" for number in range(1, 5)} == {
        step for name, step in (*record.exchanges, *record.missing) if name == "anchors"
    }
    assert others < 40 or len(sent) == 4
