"""Preflight: the model, the key and the address are known, and the server is up, before anything is judged."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from conformance.client.secret import Secret
from conformance.errors import Unreachable
from conformance.run.session import RunOptions, prepare_server
from conformance.tests.faulty_proxy import Reply, Sinner
from conformance.tests.scripted import Scripted, prepared, saying
from openapi import waiting
from openapi.contract.contract import load, names
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from conformance.tests.faulty_proxy import Forward, Sent

KEY = "sk-0123456789abcdef"


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        (saying({"object": "list", "data": [{"id": "a"}, {"id": "b"}]}), "a"),
        (saying({"data": [{"id": ""}, {}, 7, None, {"id": "b"}]}), "b"),
        (saying({"data": []}), "mindie"),
        (saying({"data": {"id": "a"}}), "mindie"),
        (saying([]), "mindie"),
        (saying({"error": "no"}, 404), "mindie"),
        (Reply(200, (b"<html>",)), "mindie"),
        (Reply(500, ()), "mindie"),
    ],
)
def test_the_model_is_the_first_that_is_listed_else_the_dialects(models: Reply, expected: str) -> None:
    assert expected == prepared(Scripted(models)).model


def test_a_model_that_the_user_names_is_not_asked_for() -> None:
    script = Scripted(saying({"data": [{"id": "a"}]}))
    assert prepared(script, model="mine").model == "mine"
    assert not [sent for sent in script.sent if sent.path.endswith("/models")]


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_is_told_before_anything_is_judged(status: int) -> None:
    script = Scripted(answer=saying({"detail": "no entry"}, status))
    with pytest.raises(Unreachable, match="refuses the key") as caught:
        prepared(script)
    assert "no entry" in str(caught.value)
    assert len(script.sent) == 3


def test_a_refused_key_is_not_repeated() -> None:
    script = Scripted(answer=saying({"code": 801, "result": None, "message": f"the key {KEY} is wrong"}))
    with pytest.raises(Unreachable, match="refuses the key") as caught:
        prepared(script, "siliconstorm", Secret(KEY))
    assert KEY not in str(caught.value)
    assert {f"Bearer {KEY}"} == {sent.headers["authorization"] for sent in script.sent}


@pytest.mark.parametrize("answer", [saying({"error": "broken"}, 500), saying({"error": "busy"}, 429), Reply(204, ())])
def test_a_server_that_fails_the_greeting_otherwise_is_judged(answer: Reply) -> None:
    assert prepared(Scripted(answer=answer)).plan.requests


@pytest.fixture
def knocking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow one another after 10 ms."""
    monkeypatch.setattr(waiting, "RETRY_INTERVAL_S", 0.01)


@pytest.mark.usefixtures("knocking")
def test_a_server_that_is_still_starting_is_waited_for_where_that_is_asked_for() -> None:
    class Starting(Scripted):
        """503 to the first two questions."""

        async def __call__(self, sent: Sent, forward: Forward) -> Reply:
            reply = await super().__call__(sent, forward)
            return saying({"detail": "loading"}, 503) if len(self.sent) <= 2 else reply

    script = Starting()
    assert prepared(script, wait_s=30.0).plan.requests
    assert [load("mindie-2.3").models_path] * 3 == [sent.path for sent in script.sent[:3]]


@pytest.mark.usefixtures("knocking")
@pytest.mark.parametrize(
    ("url", "expected"), [("", 'it answers 503: {"detail": "loading"}'), ("http://127.0.0.1:9", "nothing listens")]
)
def test_a_server_that_does_not_come_is_given_up_with_what_it_said_last(url: str, expected: str) -> None:
    with Sinner("", Scripted(models=saying({"detail": "loading"}, 503))) as server:
        wishes = RunOptions(url=url or server.url, dialect="mindie-2.3", wait_s=0.05)
        with pytest.raises(Unreachable) as caught:
            asyncio.run(prepare_server(wishes, None))
    assert expected in str(caught.value)
    assert "waited 0.05 s for it" in str(caught.value)


def test_the_greeting_is_short_and_valid() -> None:
    script = Scripted()
    found = prepared(script)
    greeting = next(sent for sent in script.sent if sent.method == "POST")
    assert not Validator(found.contract).request_problems(greeting.json)
    assert (greeting.json["model"], greeting.json["max_tokens"]) == ("mindie", 1)


@pytest.mark.parametrize("dialect", sorted(set(names().values())))
def test_every_dialect_is_asked_at_its_own_address(dialect: str) -> None:
    script = Scripted()
    prepared(script, dialect)
    contract = load(dialect)
    assert {contract.models_path, "/openapi.json", contract.path} == {sent.path for sent in script.sent}
