"""The proof over real sockets: a server with one named sin is judged, and the verdict names exactly that sin.

The honest base is the reference server; a proxy before it commits the sin on the bytes.
"""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import httpx
import pytest
from click.testing import CliRunner

from chatproof import main

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from conformance.embedded import Embedded

DRIP_S = 0.02


@dataclass(frozen=True)
class Sent:
    """A request as the proxy received it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        """The body's object; empty where it is none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def chats(self) -> bool:
        """Whether it is a chat request beyond the greeting that precedes every run."""
        return self.path.endswith("/chat/completions") and self.method == "POST" and self.json.get("max_tokens") != 1

    def saying(self, **members: Any) -> Sent:
        """The request with other members."""
        return replace(self, body=json.dumps({**self.json, **members}).encode())


@dataclass(frozen=True)
class Reply:
    """What the proxy writes: the pieces one by one, and how it ends."""

    status: int
    pieces: tuple[bytes, ...]
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    ending: Literal["end", "reset", "drip"] = "end"

    @property
    def streams(self) -> bool:
        """Whether it is an event stream."""
        return self.headers.get("Content-Type", "").startswith("text/event-stream")

    def saying(self, value: Any) -> Reply:
        """The reply with another JSON body."""
        return replace(self, pieces=(json.dumps(value).encode(),))


class Sinner:
    """A proxy before an honest server; every request goes through the sin."""

    def __init__(self, upstream: str, sin: Callable[[Sent, Any], Awaitable[Reply]]) -> None:
        self.url = ""
        self.requests = 0
        self._upstream = upstream
        self._sin = sin
        self._started = threading.Event()
        self._stop: Callable[[], object] = lambda: None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def __enter__(self) -> Sinner:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._thread.join()

    async def _run(self) -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        self._stop = lambda: loop.call_soon_threadsafe(stop.set)
        tasks: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            if task is not None:
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._answer(client, reader, writer)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

        async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            host, port = server.sockets[0].getsockname()
            self.url = f"http://{host}:{port}"
            self._started.set()
            await stop.wait()
            server.close()
            for task in list(tasks):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(
        self, client: httpx.AsyncClient, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.requests += 1

        async def forward(sent: Sent) -> Reply:
            kept = {name: value for name, value in sent.headers.items() if name in ("content-type", "authorization")}
            found = await client.request(sent.method, self._upstream + sent.path, headers=kept, content=sent.body)
            named = {"Content-Type": found.headers.get("content-type", "")}
            named |= {"Allow": found.headers["allow"]} if "allow" in found.headers else {}
            reply = Reply(found.status_code, (found.content,), named)
            if reply.streams:
                events = found.content.split(b"\n\n")
                reply = replace(reply, pieces=tuple(event + b"\n\n" for event in events if event))
            return reply

        reply = await self._sin(Sent(method, path, headers, body), forward)
        named = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
        start = f"HTTP/1.1 {reply.status} X\r\n{named}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(start.encode())
        for piece in reply.pieces:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b"")
        await writer.drain()
        while reply.ending == "drip":
            writer.write(b"8\r\n: ping\n\n\r\n")
            await writer.drain()
            await asyncio.sleep(DRIP_S)
        if reply.ending == "reset":
            writer.transport.abort()
        else:
            writer.write(b"0\r\n\r\n")
            await writer.drain()


def on_requests(edit: Callable[[Sent], Sent]) -> Callable[[Sent, Any], Awaitable[Reply]]:
    """A sin that changes what the honest server is asked."""

    async def sin(sent: Sent, forward: Any) -> Reply:
        reply: Reply = await forward(edit(sent) if sent.chats else sent)
        return reply

    return sin


def on_replies(edit: Callable[[Sent, Reply], Reply]) -> Callable[[Sent, Any], Awaitable[Reply]]:
    """A sin that changes what the honest server answers."""

    async def sin(sent: Sent, forward: Any) -> Reply:
        reply: Reply = await forward(sent)
        return edit(sent, reply) if sent.chats else reply

    return sin


def on_streams(edit: Callable[[tuple[bytes, ...]], tuple[bytes, ...]]) -> Callable[[Sent, Any], Awaitable[Reply]]:
    """A sin that changes the events of streams."""
    return on_replies(lambda _, reply: replace(reply, pieces=edit(reply.pieces)) if reply.streams else reply)


def on_answers(edit: Callable[[Sent, dict[str, Any]], None]) -> Callable[[Sent, Any], Awaitable[Reply]]:
    """A sin that changes plain answers."""

    def change(sent: Sent, reply: Reply) -> Reply:
        if reply.streams or reply.status != 200:
            return reply
        answer = json.loads(b"".join(reply.pieces))
        edit(sent, answer)
        return reply.saying(answer)

    return on_replies(change)


def clipped(pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The events without the last character of the text."""
    found = list(pieces)
    for at in reversed(range(len(found))):
        data = found[at].removeprefix(b"data: ").strip()
        chunk = json.loads(data) if data.startswith(b"{") else {}
        for choice in chunk.get("choices", ()):
            if choice["delta"].get("content"):
                choice["delta"]["content"] = choice["delta"]["content"][:-1]
                found[at] = b"data: " + json.dumps(chunk).encode() + b"\n\n"
                return tuple(found)
    return pieces


def leak(sent: Sent, answer: dict[str, Any]) -> None:
    """The stop text at the end of the answer."""
    if isinstance(sent.json.get("stop"), str) and not sent.json.get("include_stop_str_in_output"):
        answer["choices"][0]["message"]["content"] += sent.json["stop"]


def add_a_token(_: Sent, answer: dict[str, Any]) -> None:
    """One token too many in the sum."""
    answer["usage"]["total_tokens"] += 1


def refusing(status: int, hit: Callable[[Sent], bool]) -> Callable[[Sent, Any], Awaitable[Reply]]:
    """A sin that refuses some requests."""
    return on_replies(lambda sent, reply: Reply(status, (b'{"error":"no"}',)) if hit(sent) else reply)


@dataclass(frozen=True)
class Case:
    """A sin, what part of the suite is run against it, and what the verdict must be."""

    sin: Callable[[Sent, Any], Awaitable[Reply]]
    only: tuple[str, ...]
    failing: frozenset[str]
    says: str
    code: int = 1
    options: tuple[str, ...] = ()


CASES = {
    "omits [DONE]": Case(
        on_streams(lambda pieces: tuple(piece for piece in pieces if b"[DONE]" not in piece)),
        ("greedy",),
        frozenset({"stream.done-last"}),
        "[DONE]",
    ),
    "total_tokens off by one": Case(
        on_answers(add_a_token), ("conversation",), frozenset({"usage.total-is-sum"}), "/usage/total_tokens"
    ),
    "accepts temperature 2.1": Case(
        on_requests(lambda sent: sent.saying(temperature=1) if sent.json.get("temperature") == 2.1 else sent),
        ("temperature-*", "parameters.temperature.*"),
        frozenset({"parameters.temperature.maximum-outside"}),
        "temperature 2.1 is refused with 4xx",
    ),
    "refuses top_k 0": Case(
        refusing(422, lambda sent: sent.json.get("top_k") == 0),
        ("parameters.top_k.*",),
        frozenset({"parameters.top_k.minimum-inside"}),
        "top_k 0 is accepted",
    ),
    "answers 500 to a seed of 2^64": Case(
        refusing(500, lambda sent: sent.json.get("seed") == 2**64),
        ("seed-*",),
        frozenset({"parameters.seed.maximum-outside", "errors.client-fault-is-4xx"}),
        "seed 18446744073709551616 is refused with 4xx",
    ),
    "sends errors with status 200": Case(
        on_replies(lambda sent, reply: reply.saying({"error": "the model failed"})),
        ("conversation",),
        frozenset({"answer.no-error-inside"}),
        "the model failed",
    ),
    "streams as one plain JSON": Case(
        on_requests(lambda sent: sent.saying(stream=False) if sent.json.get("stream") else sent),
        ("stream.accepted",),
        frozenset({"stream.accepted"}),
        "application/json",
    ),
    "never ends a stream": Case(
        on_replies(lambda _, reply: replace(reply, ending="drip") if reply.streams else reply),
        ("stream.accepted",),
        frozenset({"stream.accepted"}),
        "no complete answer within 1 s",
        options=("--timeout", "1", "--concurrency", "16"),
    ),
    "breaks off in mid-stream": Case(
        on_replies(
            lambda _, reply: replace(reply, pieces=reply.pieces[:3], ending="reset") if reply.streams else reply
        ),
        ("greedy",),
        frozenset({"answer.accepted", "stream.accepted"}),
        "(cut: ",
    ),
    "drops the last character of a stream": Case(
        on_streams(clipped), ("greedy",), frozenset({"stream.text-as-plain"}), "streamed: '1, 2, 3, 4, 5, 6, 7, 8, 9'"
    ),
    "leaks the stop text": Case(
        on_answers(leak),
        ("stop-text",),
        frozenset({"stop.not-in-output"}),
        "/choices/0/message/content",
    ),
    "nests its answers too deep": Case(
        on_replies(lambda _, reply: replace(reply, pieces=(b"[" * 200_000,))),
        ("conversation",),
        frozenset({"answer.fits-schema"}),
        "nested too deeply",
    ),
    "answers with a page": Case(
        on_replies(lambda _, reply: Reply(200, (b"<html>busy</html>",), {"Content-Type": "text/html"})),
        ("conversation",),
        frozenset({"answer.fits-schema"}),
        "Expecting value",
    ),
    "redirects": Case(
        on_replies(lambda _, reply: Reply(307, (), {"Location": "http://127.0.0.1:9/"})),
        ("conversation",),
        frozenset({"answer.accepted"}),
        "307",
    ),
}


@pytest.fixture(scope="module")
def honest(serve: Callable[[str], Embedded]) -> str:
    """The address of the reference server."""
    return serve("mindie-2.3").url


def judge(url: str, *arguments: str) -> tuple[int, str]:
    """The exit code and the words of `chatproof check`."""
    result = CliRunner().invoke(main, ["check", url, "--dialect", "mindie", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def only(*patterns: str) -> list[str]:
    """The patterns as options."""
    return [word for pattern in patterns for word in ("--only", pattern)]


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, Any]]:
    """The content of results.json, written into a folder of the test's own."""
    monkeypatch.chdir(tmp_path)

    def read() -> dict[str, Any]:
        content: dict[str, Any] = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
        return content

    return read


def test_the_proxy_without_a_sin_is_conformant(honest: str, results: Callable[[], dict[str, Any]]) -> None:
    with Sinner(honest, on_replies(lambda _, reply: reply)) as server:
        patterns = sorted({pattern for case in CASES.values() for pattern in case.only})
        code, said = judge(server.url, *only(*patterns))
    assert code == 0, said
    assert not [row for row in results()["requirements"] if row["fails"]]


@pytest.mark.parametrize("name", CASES)
def test_a_sin_is_found_and_named(honest: str, results: Callable[[], dict[str, Any]], name: str) -> None:
    case = CASES[name]
    with Sinner(honest, case.sin) as server:
        code, _ = judge(server.url, *only(*case.only), *case.options)
    failed = [row for row in results()["requirements"] if row["outcome"] == "FAIL"]
    words = json.dumps(failed, ensure_ascii=False)
    assert case.failing == {row["id"] for row in failed}, words
    assert case.code == code
    assert case.says in words


def test_a_server_that_lets_nobody_in_is_unreachable_and_not_judged(honest: str) -> None:
    async def shut(sent: Sent, forward: Any) -> Reply:
        return Reply(401, (b'{"error":"Unauthorized"}',))

    with Sinner(honest, shut) as server:
        code, said = judge(server.url)
    assert code == 3
    assert said.startswith("chatproof: the server refuses the key: 401")
    assert len(said.splitlines()) == 1


def test_a_rate_limit_without_end_stops_the_run_without_a_verdict(
    honest: str, results: Callable[[], dict[str, Any]]
) -> None:
    limit = Reply(429, (b'{"error":"slow down"}',), {"Content-Type": "application/json", "Retry-After": "0"})
    with Sinner(honest, on_replies(lambda _, reply: limit)) as server:
        code, said = judge(server.url, "--only", "conversation", "--only", "greedy", "--concurrency", "1")
        asked = server.requests
    found = results()
    assert code == 4, said
    assert (found["verdict"], found["counts"]["FAIL"], found["counts"]["PASS"]) == ("inconclusive", 0, 0)
    assert found["run"]["exhausted"] == "the server limits the rate: 429 to 4 tries of one request"
    assert asked == 3 + 4  # what precedes every run, and one request four times
