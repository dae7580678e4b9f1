"""Runs: what is sent when, what is sent again, and what a step's request is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from conformance.check import NotExercised, NotObserved
from conformance.errors import HarnessError
from conformance.run.sender import LONGEST_WAIT_S, MOST_RETRIES
from conformance.scenario import Step, StopFrom
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


@pytest.mark.parametrize("concurrency", [1, 3])
def test_no_more_is_sent_at_a_time_than_was_allowed(concurrency: int) -> None:
    client = ScriptedClient()
    execute(client, *(scenario(f"s{at}") for at in range(10)), concurrency=concurrency)
    assert concurrency == client.most_at_once


def test_steps_that_belong_together_are_sent_at_the_same_time() -> None:
    client = ScriptedClient()
    execute(client, scenario("all", *(Step(f"s{at}", body={}) for at in range(6)), together=True), concurrency=1)
    assert client.most_at_once == 6


def test_scenarios_whose_clients_leave_are_sent_one_after_another_and_beside_all_others() -> None:
    client = ScriptedClient()
    steps = tuple(Step(name, body={}, stop_after_events=2) for name in ("left", "left-again"))
    execute(client, *(scenario(f"leaves{at}", *steps) for at in range(3)), scenario("stays", *map(Step, "abc")))
    order = [identifier.partition("/")[0] for identifier in client.ids() if identifier.startswith("leaves")]
    assert [name for at in range(3) for name in [f"leaves{at}"] * 2] == order
    assert 2 == client.most_at_once


def test_a_request_is_sent_again_when_the_server_asks_to_wait(waits: list[float]) -> None:
    replies = iter([429, 503, 200])
    client = ScriptedClient(lambda call: answered(call, next(replies), retry_after="7"))
    record = execute(client, scenario("one"))
    assert (waits, record.requests, record.exchanges["one", "main"].status) == ([7.0, 7.0], 3, 200)
    assert record.exhausted is None


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("0", []),
        ("2", [2.0] * MOST_RETRIES),
        ("1000000000", [LONGEST_WAIT_S] * MOST_RETRIES),
        ("9" * 5000, [LONGEST_WAIT_S] * MOST_RETRIES),
        ("Fri, 20 Nov 2026 23:09:09 GMT", [LONGEST_WAIT_S] * MOST_RETRIES),
        ("-1", [LONGEST_WAIT_S] * MOST_RETRIES),
        ("\u00b2", [LONGEST_WAIT_S] * MOST_RETRIES),
        ("nan", [LONGEST_WAIT_S] * MOST_RETRIES),
    ],
)
def test_the_wait_that_a_server_asks_for_is_bounded(waits: list[float], asked: str, expected: list[float]) -> None:
    execute(ScriptedClient(lambda call: answered(call, 429, retry_after=asked)), scenario("one"))
    assert expected == waits


def test_a_rate_limit_without_a_time_is_waited_for_longer_each_time(waits: list[float]) -> None:
    execute(ScriptedClient(lambda call: answered(call, 429)), scenario("one"))
    assert waits == [1.0, 2.0, 4.0]


def test_a_rate_limit_without_end_ends_the_run_and_blames_nobody(waits: list[float]) -> None:
    client = ScriptedClient(lambda call: answered(call, 429, retry_after="1"))
    record = execute(client, scenario("one"), scenario("two"), concurrency=1)
    assert client.ids() == ["one/main"] * (MOST_RETRIES + 1)
    assert not record.exchanges
    assert {("one", "main"), ("two", "main")} == set(record.missing)
    assert not [reason for reason in record.missing.values() if isinstance(reason, NotExercised)]
    assert record.exhausted == "the server limits the rate: 429 to 4 tries of one request"


def test_a_503_is_judged_unless_it_asks_to_wait(waits: list[float]) -> None:
    client = ScriptedClient(lambda call: answered(call, 503))
    assert execute(client, scenario("one")).exchanges["one", "main"].status == 503
    assert (len(client.calls), waits) == (1, [])


def test_a_503_that_asks_to_wait_without_end_is_judged_in_the_end(waits: list[float]) -> None:
    client = ScriptedClient(lambda call: answered(call, 503, retry_after="1"))
    record = execute(client, scenario("one"))
    assert record.exchanges["one", "main"].status == 503
    assert (len(client.calls), record.exhausted) == (MOST_RETRIES + 1, None)


def test_what_was_sent_again_is_counted_with_its_waiting(waits: list[float]) -> None:
    replies = iter([429, 503, 200])
    record = execute(ScriptedClient(lambda call: answered(call, next(replies), retry_after="7")), scenario("one"))
    assert (record.retries, record.waited_s) == (2, 14.0)


def test_what_belongs_together_takes_the_places_of_the_others() -> None:
    client = ScriptedClient()
    together = [scenario(f"all{at}", *(Step(f"s{it}", body={}) for it in range(6)), together=True) for at in range(3)]
    execute(client, *(scenario(f"s{at}") for at in range(20)), *together, concurrency=4)
    assert (client.most_at_once, len(client.calls)) == (6, 38)


STOPPED = scenario("stop", Step("baseline", body={}), Step("stopped", body={}, stop_from=StopFrom("baseline", 4)))


@pytest.mark.parametrize(
    "text", ["1, 2, 3, 4, 5, 6, 7, 8, 9.", "Once upon a time there was a fox.", "你好，世界！你好吗，朋友？"]
)
def test_a_stop_text_is_cut_from_the_middle_where_it_first_stands(text: str) -> None:
    client = ScriptedClient(lambda call: answered(call, text=text))
    record = execute(client, STOPPED)
    stop = record.exchanges["stop", "stopped"].request_json["stop"]
    assert (len(stop), len(text) // 2 <= text.find(stop)) == (4, True)


@pytest.mark.parametrize("text", ["", "abc", "aaaaaaaaaaaaaaaaaaaa", "        x"])
def test_an_answer_that_holds_no_stop_text_is_no_fault(text: str) -> None:
    record = execute(ScriptedClient(lambda call: answered(call, text=text)), STOPPED)
    assert {key: isinstance(why, NotExercised) for key, why in record.missing.items()} == {("stop", "stopped"): True}


def test_a_baseline_that_failed_leaves_the_stop_text_untested() -> None:
    record = execute(ScriptedClient(lambda call: answered(call, 500)), STOPPED)
    (reason,) = record.missing.values()
    assert (NotObserved, "step 'baseline' was not answered") == (type(reason), str(reason))


def test_keys_and_addresses_follow_the_step() -> None:
    client = ScriptedClient()
    steps = (
        Step("given", body={}),
        Step("none", body={}, credentials="none"),
        Step("wrong", body={}, credentials="wrong"),
        Step("misplaced", body={}, credentials="misplaced"),
        Step("models", method="GET", path="models"),
        Step("elsewhere", method="GET", path="/no/such/path"),
    )
    execute(client, scenario("keys", *steps))
    found = {call.step: call for call in client.calls}
    assert {name: call.with_key for name, call in found.items()} == {
        "given": True,
        "none": False,
        "wrong": False,
        "misplaced": False,
        "models": True,
        "elsewhere": True,
    }
    wrong, misplaced = found["wrong"].headers["Authorization"], found["misplaced"].headers["Authorization"]
    assert (wrong, "Authorization" in found["none"].headers) == (f"Bearer {misplaced}", False)
    assert found["given"].url == "http://h/v1/chat/completions"
    assert [found[name].url for name in ("models", "elsewhere")] == ["http://h/v1/models", "http://h/no/such/path"]
    assert found["models"].headers == {}


def test_a_defect_of_ours_ends_the_run_as_itself() -> None:
    def answer(call: Call) -> Exchange:
        raise HarnessError("call one/main cannot be sent")

    with pytest.raises(HarnessError, match="cannot be sent"):
        execute(ScriptedClient(answer), scenario("one"), scenario("two", Step("a"), Step("b"), together=True))


def test_progress_is_told_after_every_exchange() -> None:
    seen: list[int] = []
    scenarios = (scenario(f"s{at}") for at in range(4))
    run = make_run(ScriptedClient(), *scenarios, on_progress=lambda record: seen.append(len(record.exchanges)))
    asyncio.run(run.execute())
    assert seen == [1, 2, 3, 4]
