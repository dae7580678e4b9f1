"""The budget of a run: the limits on requests, tokens, time and rate."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from conformance.exchange import Exchange, Failure, Segment
from conformance.run import budget
from conformance.scenario import Step
from conformance.tests.runs import ScriptedClient, answered, execute, scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.client.call import Call


def cut(call: Call) -> Exchange:
    """Return an exchange that exceeded its deadline."""
    return replace(answered(call), response=None, failure=Failure("timeout", f"nothing in {call.deadline_s:g} s"))


@pytest.mark.parametrize("most", [1, 5, 9, 10])
def test_the_number_of_requests_is_limited(most: int) -> None:
    client = ScriptedClient()
    record = execute(client, *(scenario(f"s{at}") for at in range(10)), max_requests=most)
    assert (most, most, most) == (len(client.calls), record.requests, len(record.exchanges))
    assert 10 - most == len(record.missing)
    assert record.exhausted == (None if most == 10 else f"--max-requests {most}")


def test_retries_count_as_requests(waits: list[float]) -> None:
    client = ScriptedClient(lambda call: answered(call, 429, retry_after="1"))
    record = execute(client, scenario("one"), max_requests=2)
    assert (record.requests, record.exhausted) == (2, "--max-requests 2")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The clock of a run, which a test can set."""
    clock = SimpleNamespace(now_s=100.0)
    monkeypatch.setattr(budget, "time", SimpleNamespace(monotonic=lambda: clock.now_s))
    return clock


def test_nothing_is_sent_after_the_time_limit(clock: SimpleNamespace) -> None:
    def answer(call: Call) -> Exchange:
        clock.now_s += 4.0
        return answered(call)

    client = ScriptedClient(answer)
    record = execute(client, *(scenario(f"s{at}") for at in range(5)), max_time_s=10.0, concurrency=1)
    assert (len(client.calls), record.exhausted) == (3, "--max-time 10")
    assert [call.deadline_s for call in client.calls] == [9.0, 5.0, 1.0]  # a tenth is left for judging


def test_an_exchange_that_the_time_limit_of_the_run_cut_off_is_not_judged(clock: SimpleNamespace) -> None:
    def answer(call: Call) -> Exchange:
        clock.now_s += call.deadline_s
        return cut(call)

    record = execute(ScriptedClient(answer), scenario("one"), max_time_s=10.0)
    assert (record.exchanges, record.exhausted) == ({}, "--max-time 10")


def test_an_exchange_that_exceeded_its_own_deadline_is_judged(clock: SimpleNamespace) -> None:
    record = execute(ScriptedClient(cut), scenario("one"), deadline_s=5.0)
    assert record.exhausted is None
    failure = record.exchanges["one", "main"].failure
    assert failure is not None
    assert failure.detail == "nothing in 5 s"


def costing(tokens: int) -> Callable[[Call], Exchange]:
    """Return a function that answers with a usage of `tokens`."""

    def answer(call: Call) -> Exchange:
        exchange = answered(call)
        body = b'{"choices":[],"usage":{"prompt_tokens":1,"total_tokens": %d}}' % tokens
        assert exchange.response is not None
        return replace(
            exchange, response=replace(exchange.response, segments=(Segment(0.1, body[:40]), Segment(0.2, body[40:])))
        )

    return answer


@pytest.mark.parametrize(("cost", "expected"), [(10, 5), (25, 2), (10**9, 1)])
def test_the_number_of_tokens_is_limited(cost: int, expected: int) -> None:
    client = ScriptedClient(costing(cost))
    scenarios = [scenario(f"s{at}", Step(body={"max_tokens": 2})) for at in range(9)]
    record = execute(client, *scenarios, max_tokens=50, concurrency=1)
    assert (expected, expected * cost) == (len(client.calls), record.tokens)
    assert record.exhausted == "--max-tokens 50"
    assert len(record.missing) == 9 - expected


def test_requests_in_flight_count_as_their_maximum_tokens() -> None:
    client = ScriptedClient()
    record = execute(client, *(scenario(f"s{at}", Step(body={"max_tokens": 20})) for at in range(9)), max_tokens=50)
    assert (len(client.calls), record.tokens, client.most_at_once) == (2, 40, 2)


def test_a_refusal_costs_no_tokens() -> None:
    record = execute(ScriptedClient(lambda call: answered(call, 400)), scenario("one", Step(body={"max_tokens": 20})))
    assert record.tokens == 0


def test_requests_are_sent_at_the_rate_limit(clock: SimpleNamespace, waits: list[float]) -> None:
    execute(ScriptedClient(), *(scenario(f"s{at}") for at in range(4)), rate=0.5)
    assert waits == [2.0, 4.0, 6.0]


def test_a_wait_ends_with_the_time_of_the_run(clock: SimpleNamespace, waits: list[float]) -> None:
    execute(ScriptedClient(lambda call: answered(call, 429, retry_after="20")), scenario("one"), max_time_s=3.0)
    assert waits[0] == 2.7  # a tenth is left for judging
