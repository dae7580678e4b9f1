"""The call of a step: its stop string, credentials and URL."""

from __future__ import annotations

import pytest

from conformance.check import NotExercised, NotObserved
from conformance.scenario import Step, StopFrom
from conformance.tests.runs import ScriptedClient, answered, execute, scenario

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
