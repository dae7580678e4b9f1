"""Preflight: the model, the API key and the readiness of the server are checked before anything is judged."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conformance.client.secret import Secret
from conformance.errors import Unreachable
from conformance.record import BudgetLimits
from conformance.run.session.options import RunOptions
from conformance.run.session.preparation import prepare_server
from conformance.run.session.sending import send
from conformance.tests.faulty_proxy import FaultyProxy, Reply
from conformance.tests.scripted import Scripted, json_reply, prepared
from openapi import waiting
from openapi.contract.contract import load, names
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from conformance.run.session.preparation import PreparedRun
    from conformance.tests.faulty_proxy import Forward, Sent

KEY = "sk-0123456789abcdef"


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        (json_reply({"object": "list", "data": [{"id": "a"}, {"id": "b"}]}), "a"),
        (json_reply({"data": [{"id": ""}, {}, 7, None, {"id": "b"}]}), "b"),
        (json_reply({"data": []}), "mindie"),
        (json_reply({"data": {"id": "a"}}), "mindie"),
        (json_reply([]), "mindie"),
        (json_reply({"error": "no"}, 404), "mindie"),
        (Reply(200, (b"<html>",)), "mindie"),
        (Reply(500, ()), "mindie"),
    ],
)
def test_the_model_is_the_first_in_the_list_or_the_default_of_the_dialect(models: Reply, expected: str) -> None:
    assert expected == prepared(Scripted(models)).model


def test_the_list_of_models_is_not_requested_if_the_user_names_a_model() -> None:
    script = Scripted(json_reply({"data": [{"id": "a"}]}))
    assert prepared(script, model="mine").model == "mine"
    assert not [sent for sent in script.sent if sent.path.endswith("/models")]


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_ends_the_run_before_anything_is_judged(status: int) -> None:
    script = Scripted(answer=json_reply({"detail": "no entry"}, status))
    with pytest.raises(Unreachable, match="refuses the API key") as caught:
        prepared(script)
    assert "no entry" in str(caught.value)
    assert len(script.sent) == 3


def test_a_refused_key_is_not_shown() -> None:
    script = Scripted(answer=json_reply({"code": 801, "result": None, "message": f"the key {KEY} is wrong"}))
    with pytest.raises(Unreachable, match="refuses the API key") as caught:
        prepared(script, "siliconstorm", Secret(KEY))
    assert KEY not in str(caught.value)
    assert {f"Bearer {KEY}"} == {sent.headers["authorization"] for sent in script.sent}


@pytest.mark.parametrize(
    "answer", [json_reply({"error": "broken"}, 500), json_reply({"error": "busy"}, 429), Reply(204, ())]
)
def test_a_server_that_fails_the_first_request_otherwise_is_judged(answer: Reply) -> None:
    assert prepared(Scripted(answer=answer)).plan.requests


COMPLETION = {"object": "chat.completion", "choices": [{"index": 0, "message": {"content": "a"}}]}
OTHERS = json_reply({"data": [{"id": "nightingale"}, {"id": "b"}]})


@pytest.mark.parametrize(
    "answer",
    [
        json_reply({"error": "unknown path"}, 404),
        json_reply({"detail": "Method Not Allowed"}, 405),
        Reply(200, (b"<!doctype html><title>Welcome</title>",)),
        Reply(403 + 1, (b"<html>nothing here</html>",)),
        Reply(301, (), {"Location": "https://elsewhere/"}),
    ],
)
def test_a_url_without_a_chat_endpoint_ends_the_run_after_one_chat_request(answer: Reply) -> None:
    script = Scripted(answer=answer)
    with pytest.raises(Unreachable, match="no chat-completions endpoint at this URL: POST http://") as caught:
        prepared(script)
    assert "/v1/chat/completions was answered with" in str(caught.value)
    assert 1 == sum(sent.method == "POST" for sent in script.sent)


@pytest.mark.parametrize(
    ("usage", "is_known"), [({"completion_tokens": 16}, True), ({"completion_tokens": 10**400}, True), ({}, False)]
)
def test_the_time_of_a_token_is_measured_with_one_request_that_counts(usage: dict[str, object], is_known: bool) -> None:
    def prepare(*, timed: bool) -> PreparedRun:
        with FaultyProxy("", Scripted(answer=json_reply({**COMPLETION, "usage": usage}))) as server:
            options = RunOptions(url=server.url, dialect="mindie-2.3")
            return asyncio.run(prepare_server(options, None, timed=timed))

    untimed, timed = prepare(timed=False), prepare(timed=True)
    assert untimed.pace is not None
    assert timed.pace is not None
    assert (None, is_known) == (untimed.pace.token_s, timed.pace.token_s is not None)
    assert untimed.spent.requests + 1 == timed.spent.requests


@pytest.mark.parametrize("dialect", ["mindie", "deepseek", "ovms"])  # paths with a version, without one, and with v3
@pytest.mark.parametrize("path", ["/v1/completions", "/v1/models", "/v1/embeddings", "/v2"])
def test_the_url_of_another_endpoint_is_refused_with_the_url_to_use(dialect: str, path: str) -> None:
    script = Scripted(answer=json_reply({}, 404))
    with (
        FaultyProxy("", script) as server,
        pytest.raises(Unreachable, match=f"Did you mean {server.url}\\?"),
    ):
        asyncio.run(prepare_server(RunOptions(url=f"{server.url}{path}", dialect=dialect), None))


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (json_reply({"error": {"message": "The model `nightingal` does not exist", "code": 404}}, 404), True),
        (json_reply({"error": "model: unknown model 'nightingal'"}, 422), True),
        (json_reply({"code": 400, "message": "unknown model nightingal"}), True),
        (json_reply({"error": {"message": "no", "param": "model"}}, 400), True),
        (json_reply({"error": "bad request"}, 400), True),
    ],
)
def test_a_wrong_model_ends_the_run_with_the_models_of_the_server(answer: Reply, named: bool) -> None:
    script = Scripted(OTHERS, answer=answer)
    with pytest.raises(Unreachable, match="refuses the model 'nightingal' in a valid request") as caught:
        prepared(script, model="nightingal")
    assert "it lists nightingale, b; name a model that it serves with --model. Did you mean 'nightingale'?" in str(
        caught.value
    )
    assert 1 == sum(sent.method == "POST" for sent in script.sent)


def test_a_server_that_does_not_know_the_default_model_says_so() -> None:
    answer = json_reply({"error": {"message": "model mindie not found", "type": "x"}}, 404)
    with pytest.raises(Unreachable, match=r"the default of the dialect, .* it lists no models"):
        prepared(Scripted(answer=answer))


@pytest.mark.takes_turns
@pytest.mark.parametrize(
    "answer",
    [
        json_reply({"error": "broken"}, 500),
        Reply(502, (b"<html>Bad Gateway</html>",)),
        json_reply({"error": "busy"}, 429),
        json_reply({"error": "the field messages is not allowed"}, 400),
        json_reply({"error": "the model cannot do that"}, 400),
        json_reply({"choices": []}),
        json_reply(COMPLETION),
    ],
)
def test_a_server_that_answers_otherwise_is_judged_with_a_model_that_it_lists(answer: Reply) -> None:
    script = Scripted(OTHERS, answer=answer)
    run = prepared(script, only=("conversation",))
    assert run.answered == (answer.pieces == json_reply(COMPLETION).pieces)
    assert prepared(Scripted(OTHERS, answer=answer), model="nightingale", only=("conversation",)).plan.requests


def test_a_run_without_any_completion_has_no_verdict() -> None:
    async def run(server: str) -> str:
        options = RunOptions(url=server, dialect="mindie", only=("models",))
        outcome = await send(await prepare_server(options, None), None)
        return f"{outcome.report.verdict}: {outcome.report.exhausted}"

    models = json_reply({"object": "list", "data": [{"id": "a", "object": "model"}]})
    verdicts = []
    for answer in (json_reply({"error": "broken"}, 500), json_reply(COMPLETION)):
        with FaultyProxy("", Scripted(models, answer=answer)) as server:
            verdicts.append(asyncio.run(run(server.url)))
    assert verdicts == [
        "inconclusive: no request was answered with a chat completion, so the server cannot be judged",
        "conformant: None",
    ]


@pytest.fixture
def short_retry_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat attempts after 10 ms."""
    monkeypatch.setattr(waiting, "RETRY_INTERVAL_S", 0.01)


@pytest.mark.usefixtures("short_retry_interval")
def test_wait_s_waits_for_a_server_that_is_still_starting() -> None:
    class Starting(Scripted):
        """Answers the first two requests with 503."""

        async def __call__(self, sent: Sent, forward: Forward) -> Reply:
            reply = await super().__call__(sent, forward)
            return json_reply({"detail": "loading"}, 503) if len(self.sent) <= 2 else reply

    script = Starting()
    assert prepared(script, wait_s=30.0).plan.requests
    assert [load("mindie-2.3").models_path] * 3 == [sent.path for sent in script.sent[:3]]


@pytest.mark.usefixtures("short_retry_interval")
@pytest.mark.parametrize(
    ("url", "expected"), [("", 'it answers 503: {"detail": "loading"}'), ("http://127.0.0.1:9", "nothing listens")]
)
def test_a_server_that_does_not_start_is_reported_with_its_last_answer(url: str, expected: str) -> None:
    with FaultyProxy("", Scripted(models=json_reply({"detail": "loading"}, 503))) as server:
        options = RunOptions(url=url or server.url, dialect="mindie-2.3", wait_s=0.05)
        with pytest.raises(Unreachable) as caught:
            asyncio.run(prepare_server(options, None))
    assert expected in str(caught.value)
    assert "waited 0.05 s for it" in str(caught.value)


def test_the_first_request_is_short_and_valid() -> None:
    script = Scripted()
    run = prepared(script)
    first = next(sent for sent in script.sent if sent.method == "POST")
    assert not Validator(run.contract).request_problems(first.json)
    assert (first.json["model"], first.json["max_tokens"]) == ("mindie", 1)


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", sorted(set(names().values())))
def test_requests_go_to_the_endpoints_of_the_dialect(dialect: str) -> None:
    script = Scripted()
    prepared(script, dialect)
    contract = load(dialect)
    assert {contract.models_path, "/openapi.json", contract.path} == {sent.path for sent in script.sent}


@pytest.mark.parametrize("slow", ["models", "description"])
def test_a_slow_optional_answer_does_not_end_the_run(slow: str) -> None:
    dripping = replace(json_reply({"data": [{"id": "never"}]}), pieces=(b" ",) * 10_000, ending="drip")
    script = Scripted(answer=json_reply(COMPLETION))
    setattr(script, slow, dripping)
    began_s = time.monotonic()
    run = prepared(script, budget=BudgetLimits(deadline_s=0.3))
    assert (run.model, run.answered) == ("mindie", True)
    assert time.monotonic() - began_s < 60


def test_the_preflight_of_a_dripping_server_ends_with_the_budget_of_the_run() -> None:
    dripping = replace(json_reply(COMPLETION), pieces=(b" ",) * 10_000, ending="drip")
    script = Scripted(dripping, dripping, dripping)
    with FaultyProxy("", script) as server:
        options = RunOptions(url=server.url, dialect="mindie-2.3", budget=BudgetLimits(max_time_s=1.0, deadline_s=0.3))
        run = asyncio.run(prepare_server(options, None))
        outcome = asyncio.run(send(run, None))
    assert (outcome.report.exhausted, outcome.record.requests) == ("--max-time 1", run.spent.requests)
    assert len(script.sent) < 10


def test_chat_requests_of_the_preflight_count_against_the_limits() -> None:
    script = Scripted(json_reply({"data": []}))
    options = RunOptions(url="", dialect="vllm", budget=BudgetLimits(max_requests=2))
    with FaultyProxy("", script) as server:
        run = asyncio.run(prepare_server(replace(options, url=server.url), None))
        outcome = asyncio.run(send(run, None))
    assert (2, 2) == (run.spent.requests, sum(sent.method == "POST" for sent in script.sent))
    assert ("--max-requests 2", 2) == (outcome.report.exhausted, outcome.record.requests)


def test_a_model_name_of_any_length_is_not_used() -> None:
    assert prepared(Scripted(json_reply({"data": [{"id": "m" * 2**19}, {"id": "b"}]}))).model == "b"
