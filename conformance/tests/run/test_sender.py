"""The sender: requests are repeated when the server asks to wait."""

from __future__ import annotations

import pytest

from conformance.check import NotExercised
from conformance.run.sender import LONGEST_WAIT_S, MOST_RETRIES
from conformance.scenario import Step
from conformance.tests.runs import ScriptedClient, answered, execute, scenario


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


VALID = scenario("valid", Step(body={"max_tokens": 2}))
BAD = scenario("bad", Step(body={"max_tokens": -1}, expect="refusal"))
WORSE = scenario("worse", Step(body={"max_tokens": "a"}, expect="refusal"))


def test_a_429_is_the_answer_to_invalid_requests_if_valid_ones_are_answered(waits: list[float]) -> None:
    client = ScriptedClient(lambda call: answered(call, 200 if call.scenario == "valid" else 429))
    record = execute(client, VALID, BAD, WORSE, concurrency=1)
    assert {name: exchange.status for (name, _), exchange in record.exchanges.items()} == {
        "valid": 200,
        "bad": 429,
        "worse": 429,
    }
    assert client.ids() == ["valid/main", *["bad/main"] * 4, "valid/main", "worse/main", "valid/main"]
    assert (waits, record.requests, record.exhausted) == ([1.0, 2.0, 4.0], 8, None)


def test_a_429_is_a_limit_of_the_rate_if_a_valid_request_gets_it_once(waits: list[float]) -> None:
    replies = iter([429, 200, *[429] * 4, 200])
    record = execute(ScriptedClient(lambda call: answered(call, next(replies))), VALID, BAD, concurrency=1)
    assert record.exhausted == "the server limits the rate: 429 to 4 tries of one request"
    assert waits == [1.0, 1.0, 2.0, 4.0]


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
