"""Faults as clients see them: each seam changes what is served, and a server without faults is untouched."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import orjson
import pytest

from openapi.contract.contract import load
from openapi.stream import sse
from reference_server.engine.params import SamplingParams
from reference_server.faults.assembly import with_faults
from reference_server.faults.cached_engine import Memory, Remembering
from reference_server.faults.fault import chosen
from reference_server.faults.fault_host import Host, as_data
from reference_server.faults.fault_list import known_faults
from reference_server.settings import Settings
from reference_server.tests.scripted_engine import ScriptedEngine

DIALECT = "mindie-2.3"
HELLO: dict[str, Any] = {"model": "tiny", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4}


def answer(*faults: str, dialect: str = DIALECT, **members: Any) -> httpx.Response:
    """What a server with these faults answers."""
    contract = load(dialect)
    app = with_faults(contract, ScriptedEngine(), Settings(model="tiny"), chosen(faults, known_faults(contract.name)))
    return _post(app, contract.path, {**HELLO, **members})


def _post(app: Any, path: str, body: dict[str, Any]) -> httpx.Response:
    async def post() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server") as client:
            return await client.post(path, json=body)

    return asyncio.run(post())


def data(response: httpx.Response) -> list[str]:
    """The data of the events of a stream."""
    return [event.data for event in sse.decode([(0.0, response.content)]).events]


def test_without_a_fault_nothing_is_put_around_the_application() -> None:
    assert "Hello world" == answer().json()["choices"][0]["message"]["content"]
    assert "[DONE]" == data(answer(stream=True))[-1]


@pytest.mark.parametrize(
    ("fault", "members", "expected"),
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
def test_what_is_accepted_and_with_which_status(fault: str, members: dict[str, Any], expected: int) -> None:
    assert expected == answer(fault, **members).status_code
    assert expected != answer(**members).status_code


def test_answers_are_changed_and_their_length_is_right() -> None:
    said = answer("total-off-by-one")
    usage = said.json()["usage"]
    assert usage["prompt_tokens"] + usage["completion_tokens"] + 1 == usage["total_tokens"]
    assert len(said.content) == int(said.headers["content-length"])


def test_faults_add_up() -> None:
    both = answer("total-off-by-one", "role-user").json()
    assert "user" == both["choices"][0]["message"]["role"]
    assert both["usage"]["prompt_tokens"] + both["usage"]["completion_tokens"] + 1 == both["usage"]["total_tokens"]


def test_streams_are_changed_event_by_event() -> None:
    honest = data(answer(stream=True))
    assert len(honest) - 1 == len(data(answer("omits-done", stream=True)))
    assert ["[DONE]", "[DONE]"] == data(answer("sends-done-twice", stream=True))[-2:]
    assert "text/plain; charset=utf-8" == answer("streams-as-text", stream=True).headers["content-type"]


@pytest.mark.parametrize("fault", ["type-in-capitals", "streams-as-text"])
def test_a_stream_by_another_type_is_still_sent_piece_by_piece(fault: str) -> None:
    contract = load(DIALECT)
    app = with_faults(contract, ScriptedEngine(), Settings(model="tiny"), chosen([fault], known_faults(contract.name)))
    asked = [{"type": "http.request", "body": orjson.dumps({**HELLO, "stream": True}), "more_body": False}]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        while not asked:  # a client that stays
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


def test_variations_carry_the_same_events() -> None:
    honest = len(data(answer(stream=True)))
    for name in ("line-ends-crlf", "comments-before-events", "cut-anywhere", "no-space-after-colon"):
        assert honest == len(data(answer(name, stream=True))), name


def test_refusals_are_changed() -> None:
    assert {"detail"} == set(answer("refusals-of-another-api", top_p=1.5).json())
    assert "Traceback" in answer("refusals-show-traces", top_p=1.5).text


def test_the_host_shows_each_fault_at_its_own_path() -> None:
    host, path = Host(ScriptedEngine(), "key"), load(DIALECT).path
    body = {**HELLO, "model": load(DIALECT).default_model}
    for fault, surplus in (("none", 0), ("total-off-by-one", 1), ("none", 0)):
        usage = _post(host, f"/{DIALECT}/{fault}{path}", body).json()["usage"]
        assert usage["prompt_tokens"] + usage["completion_tokens"] + surplus == usage["total_tokens"]
    assert 404 == _post(host, f"/{DIALECT}/nonsense{path}", body).status_code


def test_the_listing_is_plain_data_for_whoever_runs_the_host() -> None:
    rows = {row["name"]: row for row in as_data()}
    assert [1] == rows["omits-done"]["bugs"]
    assert "top_p" == rows["accepts:top_p.maximum"]["about"]
    assert ("answers", "refusals", "sampling", "requests") == tuple(
        rows[name]["shows"] for name in ("role-user", "refusals-empty", "seed-ignored", "stop-ignored")
    )


def test_an_engine_remembers_what_it_said_and_says_others_anew() -> None:
    engine, memory = ScriptedEngine(), Memory()

    async def read(server: Remembering, params: SamplingParams) -> list[str]:
        return [delta.text async for delta in server.submit([1, 2], params)]

    async def run() -> tuple[list[str], list[str], int]:
        greedy = SamplingParams(temperature=0.0)
        first = await read(Remembering(engine, memory), greedy)
        again = await read(Remembering(engine, memory), greedy)
        sampled = Remembering(engine, memory)
        for _ in range(2):
            await read(sampled, SamplingParams())
        return first, again, len(memory.said)

    first, again, kept = asyncio.run(run())
    assert first == again == ["Hello", " world", ""]
    assert 3 == kept  # the greedy one, and the first and the second of the others
