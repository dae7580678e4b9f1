"""Runs: what is sent when, what is sent again, and where the budget ends it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from conformance import allowance
from conformance.check import NoOccasion, NotObserved
from conformance.errors import HarnessError
from conformance.exchange import Exchange, Failure, Request, Response, Segment
from conformance.plan import Plan
from conformance.run import LONGEST_WAIT_S, MOST_RETRIES, Budget, Record, Run
from conformance.scenario import Scenario, Step, StopFrom
from openapi.address import parse
from openapi.contract import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.client import Call, Client

TARGET = parse("http://h", "/v1/chat/completions", "/v1/models")


def answered(call: Call, status: int = 200, text: str = "Hello!", **headers: str) -> Exchange:
    """A plain answer to a call."""
    body = b'{"choices":[{"index":0,"message":{"content":"%b"},"finish_reason":"stop"}]}' % text.encode()
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    response = Response(status, "", "HTTP/1.1", pairs, (Segment(0.1, body),), 0.1, 0.1, complete=True)
    request = Request(call.method, call.url, tuple(call.headers.items()), call.body)
    return Exchange(call.id, call.scenario, call.step, request, response, None, "2026-11-20T00:00:00+00:00")


def cut(call: Call) -> Exchange:
    """An exchange that ran into its deadline."""
    return replace(answered(call), response=None, failure=Failure("timeout", f"nothing in {call.deadline_s:g} s"))


class Scripted:
    """Stands in for the client: answers by a function and notes what was sent, and how much at a time."""

    def __init__(self, answer: Callable[[Call], Exchange] = answered) -> None:
        self.calls: list[Call] = []
        self.most_at_once = 0
        self._answer = answer
        self._open = 0

    async def send(self, call: Call) -> Exchange:
        self.calls.append(call)
        self._open += 1
        self.most_at_once = max(self.most_at_once, self._open)
        for _ in range(5):  # others may start meanwhile
            await asyncio.sleep(0)
        self._open -= 1
        return self._answer(call)

    def ids(self) -> list[str]:
        """What was sent, in order."""
        return [call.id for call in self.calls]


def scenario(name: str, *steps: Step, together: bool = False) -> Scenario:
    """A scenario of these steps."""
    return Scenario(name, "", steps or (Step(body={}),), together=together)


def execute(client: Scripted, *scenarios: Scenario, **budget: Any) -> Record:
    """Runs a plan of these scenarios."""
    made = Run(Plan(scenarios, (), ()), cast("Client", client), TARGET, load("mindie-2.3"), "m", Budget(**budget))
    return asyncio.run(made.execute())


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits of a run, noted and not waited for."""
    found: list[float] = []
    pause = asyncio.sleep

    async def sleep(delay_s: float) -> None:
        found.extend([delay_s] if delay_s else [])
        await pause(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return found


def test_every_step_is_sent_once_and_in_order() -> None:
    client = Scripted()
    steps = tuple(Step(name, body={}) for name in ("a", "b", "c"))
    record = execute(client, scenario("one", *steps), scenario("two", *steps))
    assert [f"one/{name}" for name in "abc"] == [each for each in client.ids() if each.startswith("one")]
    assert [f"two/{name}" for name in "abc"] == [each for each in client.ids() if each.startswith("two")]
    assert {(name, step.name) for name in ("one", "two") for step in steps} == set(record.exchanges)
    assert (record.requests, record.missing, record.exhausted) == (6, {}, None)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_no_more_is_sent_at_a_time_than_was_allowed(concurrency: int) -> None:
    client = Scripted()
    execute(client, *(scenario(f"s{at}") for at in range(10)), concurrency=concurrency)
    assert concurrency == client.most_at_once


def test_steps_that_belong_together_are_sent_at_the_same_time() -> None:
    client = Scripted()
    execute(client, scenario("all", *(Step(f"s{at}", body={}) for at in range(6)), together=True), concurrency=1)
    assert client.most_at_once == 6


def test_scenarios_whose_clients_leave_are_sent_one_after_another_and_beside_all_others() -> None:
    client = Scripted()
    steps = tuple(Step(name, body={}, stop_after_events=2) for name in ("left", "left-again"))
    execute(client, *(scenario(f"leaves{at}", *steps) for at in range(3)), scenario("stays", *map(Step, "abc")))
    order = [each.partition("/")[0] for each in client.ids() if each.startswith("leaves")]
    assert [name for at in range(3) for name in [f"leaves{at}"] * 2] == order
    assert 2 == client.most_at_once


def test_a_request_is_sent_again_when_the_server_asks_to_wait(waits: list[float]) -> None:
    replies = iter([429, 503, 200])
    client = Scripted(lambda call: answered(call, next(replies), retry_after="7"))
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
    execute(Scripted(lambda call: answered(call, 429, retry_after=asked)), scenario("one"))
    assert expected == waits


def test_a_rate_limit_without_a_time_is_waited_for_longer_each_time(waits: list[float]) -> None:
    execute(Scripted(lambda call: answered(call, 429)), scenario("one"))
    assert waits == [1.0, 2.0, 4.0]


def test_a_rate_limit_without_end_ends_the_run_and_blames_nobody(waits: list[float]) -> None:
    client = Scripted(lambda call: answered(call, 429, retry_after="1"))
    record = execute(client, scenario("one"), scenario("two"), concurrency=1)
    assert client.ids() == ["one/main"] * (MOST_RETRIES + 1)
    assert not record.exchanges
    assert {("one", "main"), ("two", "main")} == set(record.missing)
    assert not [reason for reason in record.missing.values() if isinstance(reason, NoOccasion)]
    assert record.exhausted == "the server limits the rate: 429 to 4 tries of one request"


def test_a_503_is_judged_unless_it_asks_to_wait(waits: list[float]) -> None:
    client = Scripted(lambda call: answered(call, 503))
    assert execute(client, scenario("one")).exchanges["one", "main"].status == 503
    assert (len(client.calls), waits) == (1, [])


def test_a_503_that_asks_to_wait_without_end_is_judged_in_the_end(waits: list[float]) -> None:
    client = Scripted(lambda call: answered(call, 503, retry_after="1"))
    record = execute(client, scenario("one"))
    assert record.exchanges["one", "main"].status == 503
    assert (len(client.calls), record.exhausted) == (MOST_RETRIES + 1, None)


@pytest.mark.parametrize("most", [1, 5, 9, 10])
def test_no_more_requests_are_sent_than_the_budget_has(most: int) -> None:
    client = Scripted()
    record = execute(client, *(scenario(f"s{at}") for at in range(10)), max_requests=most)
    assert (most, most, most) == (len(client.calls), record.requests, len(record.exchanges))
    assert 10 - most == len(record.missing)
    assert record.exhausted == (None if most == 10 else f"--max-requests {most}")


def test_requests_sent_again_count_against_the_budget(waits: list[float]) -> None:
    client = Scripted(lambda call: answered(call, 429, retry_after="1"))
    record = execute(client, scenario("one"), max_requests=2)
    assert (record.requests, record.exhausted) == (2, "--max-requests 2")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The time that a run sees; tests move it."""
    found = SimpleNamespace(now_s=100.0)
    monkeypatch.setattr(allowance, "time", SimpleNamespace(monotonic=lambda: found.now_s))
    return found


def test_nothing_is_sent_after_the_time_is_up(clock: SimpleNamespace) -> None:
    def answer(call: Call) -> Exchange:
        clock.now_s += 4.0
        return answered(call)

    client = Scripted(answer)
    record = execute(client, *(scenario(f"s{at}") for at in range(5)), max_time_s=10.0, concurrency=1)
    assert (len(client.calls), record.exhausted) == (3, "--max-time 10")
    assert [call.deadline_s for call in client.calls] == [10.0, 6.0, 2.0]


def test_an_exchange_that_our_own_time_limit_cut_is_not_held_against_the_server(clock: SimpleNamespace) -> None:
    def answer(call: Call) -> Exchange:
        clock.now_s += call.deadline_s
        return cut(call)

    record = execute(Scripted(answer), scenario("one"), max_time_s=10.0)
    assert (record.exchanges, record.exhausted) == ({}, "--max-time 10")


def test_an_exchange_that_ran_into_its_own_deadline_is(clock: SimpleNamespace) -> None:
    record = execute(Scripted(cut), scenario("one"), deadline_s=5.0)
    assert record.exhausted is None
    failure = record.exchanges["one", "main"].failure
    assert failure is not None
    assert failure.detail == "nothing in 5 s"


def costing(tokens: int) -> Callable[[Call], Exchange]:
    """Answers that say what they cost."""

    def answer(call: Call) -> Exchange:
        found = answered(call)
        body = b'{"choices":[],"usage":{"prompt_tokens":1,"total_tokens": %d}}' % tokens
        assert found.response is not None
        return replace(
            found, response=replace(found.response, segments=(Segment(0.1, body[:40]), Segment(0.2, body[40:])))
        )

    return answer


@pytest.mark.parametrize(("cost", "expected"), [(10, 5), (25, 2), (10**9, 1)])
def test_no_more_tokens_are_spent_than_the_budget_has(cost: int, expected: int) -> None:
    client = Scripted(costing(cost))
    scenarios = [scenario(f"s{at}", Step(body={"max_tokens": 2})) for at in range(9)]
    record = execute(client, *scenarios, max_tokens=50, concurrency=1)
    assert (expected, expected * cost) == (len(client.calls), record.tokens)
    assert record.exhausted == "--max-tokens 50"
    assert len(record.missing) == 9 - expected


def test_what_is_under_way_counts_for_what_it_may_cost() -> None:
    client = Scripted()
    record = execute(client, *(scenario(f"s{at}", Step(body={"max_tokens": 20})) for at in range(9)), max_tokens=50)
    assert (len(client.calls), record.tokens, client.most_at_once) == (2, 40, 2)


def test_a_refusal_costs_no_tokens() -> None:
    record = execute(Scripted(lambda call: answered(call, 400)), scenario("one", Step(body={"max_tokens": 20})))
    assert record.tokens == 0


def test_requests_leave_at_the_rate_that_was_allowed(clock: SimpleNamespace, waits: list[float]) -> None:
    execute(Scripted(), *(scenario(f"s{at}") for at in range(4)), rate=0.5)
    assert waits == [2.0, 4.0, 6.0]


def test_what_was_sent_again_is_counted_with_its_waiting(waits: list[float]) -> None:
    replies = iter([429, 503, 200])
    record = execute(Scripted(lambda call: answered(call, next(replies), retry_after="7")), scenario("one"))
    assert (record.retries, record.waited_s) == (2, 14.0)


def test_what_belongs_together_takes_the_places_of_the_others() -> None:
    client = Scripted()
    together = [scenario(f"all{at}", *(Step(f"s{it}", body={}) for it in range(6)), together=True) for at in range(3)]
    execute(client, *(scenario(f"s{at}") for at in range(20)), *together, concurrency=4)
    assert (client.most_at_once, len(client.calls)) == (6, 38)


def test_a_wait_is_no_longer_than_what_is_left(clock: SimpleNamespace, waits: list[float]) -> None:
    execute(Scripted(lambda call: answered(call, 429, retry_after="20")), scenario("one"), max_time_s=3.0)
    assert waits[0] == 3.0


STOPPED = scenario("stop", Step("baseline", body={}), Step("stopped", body={}, stop_from=StopFrom("baseline", 4)))


@pytest.mark.parametrize(
    "text", ["1, 2, 3, 4, 5, 6, 7, 8, 9.", "Once upon a time there was a fox.", "你好，世界！你好吗，朋友？"]
)
def test_a_stop_text_is_cut_from_the_middle_where_it_first_stands(text: str) -> None:
    client = Scripted(lambda call: answered(call, text=text))
    record = execute(client, STOPPED)
    stop = record.exchanges["stop", "stopped"].request_json["stop"]
    assert (len(stop), len(text) // 2 <= text.find(stop)) == (4, True)


@pytest.mark.parametrize("text", ["", "abc", "aaaaaaaaaaaaaaaaaaaa", "        x"])
def test_an_answer_that_holds_no_stop_text_is_no_fault(text: str) -> None:
    record = execute(Scripted(lambda call: answered(call, text=text)), STOPPED)
    assert {key: isinstance(why, NoOccasion) for key, why in record.missing.items()} == {("stop", "stopped"): True}


def test_a_baseline_that_failed_leaves_the_stop_text_untested() -> None:
    record = execute(Scripted(lambda call: answered(call, 500)), STOPPED)
    (reason,) = record.missing.values()
    assert (NotObserved, "step 'baseline' was not answered") == (type(reason), str(reason))


def test_keys_and_addresses_follow_the_step() -> None:
    client = Scripted()
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
        execute(Scripted(answer), scenario("one"), scenario("two", Step("a"), Step("b"), together=True))


def test_progress_is_told_after_every_exchange() -> None:
    seen: list[int] = []
    plan = Plan(tuple(scenario(f"s{at}") for at in range(4)), (), ())
    made = Run(
        plan,
        cast("Client", Scripted()),
        TARGET,
        load("mindie-2.3"),
        "m",
        Budget(),
        lambda record: seen.append(len(record.exchanges)),
    )
    asyncio.run(made.execute())
    assert seen == [1, 2, 3, 4]
