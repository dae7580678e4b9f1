"""Faults as clients see them: each hook changes the response, and a server without faults is unchanged."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import orjson
import pytest

from openapi.contract.contract import load
from openapi.perturbation.edit import Edit
from openapi.perturbation.perturbation import Perturbation, Variant
from openapi.stream import sse
from reference_server.engine.params import SamplingParams
from reference_server.faults.assembly import create_faulty_app
from reference_server.faults.cached_engine import AnswerCache, CachedEngine
from reference_server.faults.fault_host import FaultRouter, faults_as_data
from reference_server.faults.fault_list import known_faults
from reference_server.faults.registry import select_faults
from reference_server.settings import Settings
from reference_server.tests.scripted_engine import ScriptedEngine

DIALECT = "mindie-2.3"
HELLO: dict[str, Any] = {"model": "tiny", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4}


def answer(*faults: str, dialect: str = DIALECT, **fields: Any) -> httpx.Response:
    """Return the answer of a server with these faults."""
    contract = load(dialect)
    app = create_faulty_app(
        contract, ScriptedEngine(), Settings(model="tiny"), select_faults(faults, known_faults(contract.name))
    )
    return _post(app, contract.path, {**HELLO, **fields})


def _post(app: Any, path: str, body: dict[str, Any]) -> httpx.Response:
    async def post() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server") as client:
            return await client.post(path, json=body)

    return asyncio.run(post())


def data(response: httpx.Response) -> list[str]:
    """Return the data of the events of a stream."""
    return [event.data for event in sse.decode([(0.0, response.content)]).events]


def test_a_server_without_faults_answers_unchanged() -> None:
    assert "Hello world" == answer().json()["choices"][0]["message"]["content"]
    assert "[DONE]" == data(answer(stream=True))[-1]


@pytest.mark.parametrize(
    ("fault", "fields", "expected"),
    [
        ("accepts:top_p.maximum", {"top_p": 1.5}, 200),
        ("accepts:max_tokens.type", {"max_tokens": "4"}, 200),
        ("refuses:temperature.maximum", {"temperature": 2.0}, 422),
        ("refuses:stream.type", {"stream": True}, 422),
        ("bad-value-500", {"top_p": 1.5}, 500),
        ("status-418", {"top_p": 1.5}, 418),
        ("any-model-answers", {"model": "another"}, 200),
    ],
)
def test_a_fault_changes_the_status_of_a_request(fault: str, fields: dict[str, Any], expected: int) -> None:
    assert expected == answer(fault, **fields).status_code
    assert expected != answer(**fields).status_code


def test_a_changed_answer_has_the_right_content_length() -> None:
    response = answer("total-off-by-one")
    usage = response.json()["usage"]
    assert usage["prompt_tokens"] + usage["completion_tokens"] + 1 == usage["total_tokens"]
    assert len(response.content) == int(response.headers["content-length"])


def test_several_faults_combine() -> None:
    both = answer("total-off-by-one", "role-user").json()
    assert "user" == both["choices"][0]["message"]["role"]
    assert both["usage"]["prompt_tokens"] + both["usage"]["completion_tokens"] + 1 == both["usage"]["total_tokens"]


def test_streams_are_changed_event_by_event() -> None:
    unchanged = data(answer(stream=True))
    assert len(unchanged) - 1 == len(data(answer("omits-done", stream=True)))
    assert ["[DONE]", "[DONE]"] == data(answer("sends-done-twice", stream=True))[-2:]
    assert "text/plain; charset=utf-8" == answer("streams-as-text", stream=True).headers["content-type"]


@pytest.mark.parametrize("fault", ["type-in-capitals", "streams-as-text"])
def test_a_stream_with_another_content_type_is_still_sent_event_by_event(fault: str) -> None:
    contract = load(DIALECT)
    app = create_faulty_app(
        contract, ScriptedEngine(), Settings(model="tiny"), select_faults([fault], known_faults(contract.name))
    )
    asked = [{"type": "http.request", "body": orjson.dumps({**HELLO, "stream": True}), "more_body": False}]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        while not asked:  # the client does not disconnect
            await asyncio.sleep(3600)
        return asked.pop()

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": contract.path, "headers": headers, "query_string": b""}

    async def post() -> None:
        await app(scope, receive, send)

    asyncio.run(post())
    assert len([message for message in sent if message.get("body")]) > 2


def test_variations_contain_the_same_events() -> None:
    unchanged = len(data(answer(stream=True)))
    for name in ("line-ends-crlf", "comments-before-events", "cut-anywhere", "no-space-after-colon"):
        assert unchanged == len(data(answer(name, stream=True))), name


def test_refusals_are_changed() -> None:
    assert {"detail"} == set(answer("refusals-of-another-api", top_p=1.5).json())
    assert "Traceback" in answer("refusals-show-traces", top_p=1.5).text


def test_each_fault_is_served_at_its_own_path() -> None:
    host, path = FaultRouter(ScriptedEngine(), "key"), load(DIALECT).path
    body = {**HELLO, "model": load(DIALECT).default_model}
    for fault, surplus in (("none", 0), ("total-off-by-one", 1), ("none", 0)):
        usage = _post(host, f"/{DIALECT}/{fault}{path}", body).json()["usage"]
        assert usage["prompt_tokens"] + usage["completion_tokens"] + surplus == usage["total_tokens"]
    assert 404 == _post(host, f"/{DIALECT}/nonsense{path}", body).status_code


def test_a_variant_of_a_dialect_is_served_at_its_own_path() -> None:
    host, path = FaultRouter(ScriptedEngine(), "key"), load(DIALECT).path
    fact = "parameters/temperature/schema/maximum"
    variant = Variant(DIALECT, (Perturbation(fact, 2.0, 1.5, "", (Edit(fact, 1.5),)),))
    body = {**HELLO, "model": load(DIALECT).default_model, "temperature": 1.8}
    assert 200 == _post(host, f"/{DIALECT}/none{path}", body).status_code
    refused = _post(host, f"/variant.{variant.to_text()}/none{path}", body)
    assert 400 <= refused.status_code < 500
    assert "temperature" in refused.text
    assert 404 == _post(host, f"/variant.nonsense/none{path}", body).status_code


def test_the_listing_of_faults_is_plain_data() -> None:
    rows = {row["name"]: row for row in faults_as_data()}
    assert [1] == rows["omits-done"]["bugs"]
    assert "top_p" == rows["accepts:top_p.maximum"]["parameter"]
    assert ("answers", "refusals", "sampling", "requests") == tuple(
        rows[name]["affects"] for name in ("role-user", "refusals-empty", "seed-ignored", "stop-ignored")
    )


def test_an_engine_refields_what_it_said_and_says_others_anew() -> None:
    engine, cache = ScriptedEngine(), AnswerCache()

    async def read(server: CachedEngine, params: SamplingParams) -> list[str]:
        return [delta.text async for delta in server.submit([1, 2], params)]

    async def run() -> tuple[list[str], list[str], int]:
        greedy = SamplingParams(temperature=0.0)
        first = await read(CachedEngine(engine, cache), greedy)
        again = await read(CachedEngine(engine, cache), greedy)
        random = CachedEngine(engine, cache)
        for _ in range(2):
            await read(random, SamplingParams())
        return first, again, len(cache.answers)

    first, again, kept = asyncio.run(run())
    assert first == again == ["Hello", " world", ""]
    assert 3 == kept  # the greedy answer, and the first and second random ones
