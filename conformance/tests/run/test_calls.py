"""The call of a step: its stop string, the conversation that it continues, credentials and URL."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from conformance.check import NotExercised, NotObserved
from conformance.proof.editing.responses import with_body
from conformance.scenario import Step
from conformance.stop_string import StopFrom
from conformance.tests.runs import ScriptedClient, answered, execute, scenario

if TYPE_CHECKING:
    from conformance.record import Record

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


ASKED = {"role": "user", "content": "What is the weather?"}
AFTERWARDS = {"role": "user", "content": "And then?"}
RESULT = {"role": "tool", "content": "sunny"}


def continued(message: Any, *after: dict[str, str], status: int = 200) -> Record:
    """Return the record of a question that is answered with a message, and of a request that continues it."""
    answer = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    client = ScriptedClient(lambda call: with_body(answered(call, status), json.dumps(answer).encode()))
    steps = Step("asked", body={"messages": [ASKED]}), Step("after", body={"messages": [*after]}, continues="asked")
    return execute(client, scenario("sent-back", *steps))


@pytest.mark.parametrize("message", [{"role": "assistant", "content": "Sunny 🌞.", "refusal": None, "x": [1.5]}, {}])
def test_an_answer_is_sent_back_with_every_field_that_it_has(message: dict[str, Any]) -> None:
    record = continued(message, AFTERWARDS)
    assert [ASKED, message, AFTERWARDS] == record.exchanges["sent-back", "after"].request_json["messages"]


def test_each_call_of_an_answer_gets_a_result_with_its_id() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "one"}, {"id": "two"}, {"id": 3}, "no call"]}
    record = continued(message, RESULT)
    results = [{**RESULT, "tool_call_id": "one"}, {**RESULT, "tool_call_id": "two"}]
    assert [ASKED, message, *results] == record.exchanges["sent-back", "after"].request_json["messages"]


def test_half_of_a_character_is_sent_back_as_a_replacement() -> None:
    record = continued({"content": "half \ud800"}, AFTERWARDS)
    assert {"content": "half \ufffd"} == record.exchanges["sent-back", "after"].request_json["messages"][1]


def test_an_answer_that_is_too_long_is_not_sent_back() -> None:
    record = continued({"role": "assistant", "content": "x" * 100_000}, AFTERWARDS)
    assert ["asked"] == [step for _, step in record.exchanges]
    assert 1 == len(record.missing)


@pytest.mark.parametrize("calls", [None, [], 7, [{"id": None}]])
def test_a_result_is_not_sent_if_the_answer_has_no_call(calls: Any) -> None:
    record = continued({"role": "assistant", "content": "Sunny.", "tool_calls": calls}, RESULT)
    (reason,) = record.missing.values()
    assert (NotExercised, "the answer to step 'asked' has no call") == (type(reason), str(reason))


@pytest.mark.parametrize(("message", "status"), [({}, 500), (None, 200), ("text", 200)])
def test_a_conversation_does_not_go_on_after_a_request_without_an_answer(message: Any, status: int) -> None:
    record = continued(message, AFTERWARDS, status=status)
    (reason,) = record.missing.values()
    assert (NotObserved, "step 'asked' was not answered") == (type(reason), str(reason))


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
