"""Runs: the order of requests, retries, and the request of a step."""

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


def test_a_request_is_repeated_when_the_server_asks_to_wait(waits: list[float]) -> None:
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
def test_the_requested_wait_is_limited(waits: list[float], asked: str, expected: list[float]) -> None:
    execute(ScriptedClient(lambda call: answered(call, 429, retry_after=asked)), scenario("one"))
    assert expected == waits


def test_a_429_without_retry_after_doubles_the_wait(waits: list[float]) -> None:
    execute(ScriptedClient(lambda call: answered(call, 429)), scenario("one"))
    assert waits == [1.0, 2.0, 4.0]


def test_a_permanent_rate_limit_ends_the_run_without_findings(waits: list[float]) -> None:
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


def test_a_permanent_503_is_judged_after_the_last_retry(waits: list[float]) -> None:
    client = ScriptedClient(lambda call: answered(call, 503, retry_after="1"))
    record = execute(client, scenario("one"))
    assert record.exchanges["one", "main"].status == 503
    assert (len(client.calls), record.exhausted) == (MOST_RETRIES + 1, None)


def test_retries_and_waits_are_counted(waits: list[float]) -> None:
    replies = iter([429, 503, 200])
    record = execute(ScriptedClient(lambda call: answered(call, next(replies), retry_after="7")), scenario("one"))
    assert (record.retries, record.waited_s) == (2, 14.0)


def test_together_steps_take_the_slots_of_the_others() -> None:
    client = ScriptedClient()
    together = [scenario(f"all{at}", *(Step(f"s{it}", body={}) for it in range(6)), together=True) for at in range(3)]
    execute(client, *(scenario(f"s{at}") for at in range(20)), *together, concurrency=4)
    assert (client.most_at_once, len(client.calls)) == (6, 38)


STOPPED = scenario("stop", Step("baseline", body={}), Step("stopped", body={}, stop_from=StopFrom("baseline", 4)))


@pytest.mark.parametrize(
    "text", ["1, 2, 3, 4, 5, 6, 7, 8, 9.", "Once upon a time there was a fox.", "你好，世界！你好吗，朋友？"]
)
def test_a_stop_string_is_cut_from_the_middle_at_its_first_occurrence(text: str) -> None:
    client = ScriptedClient(lambda call: answered(call, text=text))
    record = execute(client, STOPPED)
    stop = record.exchanges["stop", "stopped"].request_json["stop"]
    assert (len(stop), len(text) // 2 <= text.find(stop)) == (4, True)


@pytest.mark.parametrize("text", ["", "abc", "aaaaaaaaaaaaaaaaaaaa", "        x"])
def test_an_answer_without_a_stop_string_is_not_exercised(text: str) -> None:
    record = execute(ScriptedClient(lambda call: answered(call, text=text)), STOPPED)
    assert {key: isinstance(why, NotExercised) for key, why in record.missing.items()} == {("stop", "stopped"): True}


def test_a_failed_baseline_is_the_reason_for_a_missing_stop_string() -> None:
    record = execute(ScriptedClient(lambda call: answered(call, 500)), STOPPED)
    (reason,) = record.missing.values()
    assert (NotObserved, "step 'baseline' was not answered") == (type(reason), str(reason))


def test_credentials_and_urls_depend_on_the_step() -> None:
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
    calls = {call.step: call for call in client.calls}
    assert {name: call.with_key for name, call in calls.items()} == {
        "given": True,
        "none": False,
        "wrong": False,
        "misplaced": False,
        "models": True,
        "elsewhere": True,
    }
    wrong, misplaced = calls["wrong"].headers["Authorization"], calls["misplaced"].headers["Authorization"]
    assert (wrong, "Authorization" in calls["none"].headers) == (f"Bearer {misplaced}", False)
    assert calls["given"].url == "http://h/v1/chat/completions"
    assert [calls[name].url for name in ("models", "elsewhere")] == ["http://h/v1/models", "http://h/no/such/path"]
    assert calls["models"].headers == {}


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
