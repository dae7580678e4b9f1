"""Reads streams of one server and measures when each token arrives and how much CPU time it costs the server."""

from __future__ import annotations

import asyncio
import json
import random
import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from benchmarks.process_group import ProcessGroup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WORDS: Final = (
    "river",
    "stone",
    "lamp",
    "green",
    "seven",
    "window",
    "cold",
    "paper",
    "bird",
    "engine",
    "salt",
    "north",
)
DEADLINE_S: Final = 300.0


class BenchmarkError(Exception):
    """A server did not start, or did not answer as the benchmark requires."""


@dataclass(frozen=True, slots=True)
class BenchmarkTarget:
    """A server. pid: its process id. fixed: fields of every request body."""

    host: str
    port: int
    path: str
    pid: int
    fixed: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stream:
    """One answer. arrivals_s: times of events with text, since the request; tokens: completion_tokens of its usage."""

    arrivals_s: tuple[float, ...]
    tokens: int

    @property
    def gaps_s(self) -> list[float]:
        """The gaps between consecutive events with text."""
        return [later - earlier for earlier, later in zip(self.arrivals_s, self.arrivals_s[1:], strict=False)]


@dataclass(frozen=True, slots=True)
class Load:
    """The measurements of one load. wall_s, cpu_s: for all tokens; rss_bytes: afterwards."""

    streams: tuple[Stream, ...]
    wall_s: float
    cpu_s: float
    rss_bytes: int

    def figures(self) -> dict[str, float]:
        """Return the figures of the table, by name."""
        tokens = sum(stream.tokens for stream in self.streams)
        first = [stream.arrivals_s[0] for stream in self.streams]
        gaps = [gap for stream in self.streams for gap in stream.gaps_s] or [0.0]
        return {
            "tokens_per_s": tokens / self.wall_s,
            "ttft_p50_ms": median(first) * 1e3,
            "ttft_p99_ms": quantile(first, 0.99) * 1e3,
            "itl_p50_ms": median(gaps) * 1e3,
            "itl_p99_ms": quantile(gaps, 0.99) * 1e3,
            "cpu_us_per_token": self.cpu_s / tokens * 1e6,
            "rss_mib": self.rss_bytes / 2**20,
        }


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value that a share of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def prompt(generator: random.Random, words: int = 24) -> str:
    """Return a random question, so that no two prompts share a prefix."""
    return " ".join(generator.choice(WORDS) for _ in range(words))


class _RequestProtocol(asyncio.Protocol):
    """Sends one request and records the response with as little work per read as possible.

    pieces: (time.perf_counter in seconds, bytes) of every read.
    """

    def __init__(self, sent: bytes) -> None:
        self._sent = sent
        self.pieces: list[tuple[float, bytes]] = []
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.WriteTransport):
            transport.write(self._sent)

    def data_received(self, data: bytes) -> None:
        self.pieces.append((time.perf_counter(), data))

    def connection_lost(self, _: Exception | None) -> None:
        if not self.over.done():
            self.over.set_result(None)


@dataclass(frozen=True, slots=True)
class _Recording:
    """The recorded response to one request. It is parsed after the measurement."""

    began: float
    pieces: list[tuple[float, bytes]]
    max_tokens: int

    def stream(self) -> Stream:
        return _stream([(at - self.began, piece) for at, piece in self.pieces], self.max_tokens)


async def ask(target: BenchmarkTarget, content: str, max_tokens: int, options: Mapping[str, Any]) -> Stream:
    """Request one streamed answer on a new connection. options: fields of the body, and `before`: earlier messages."""
    return (await _read(target, content, max_tokens, options)).stream()


async def _read(target: BenchmarkTarget, content: str, max_tokens: int, options: Mapping[str, Any]) -> _Recording:
    messages = [*options.get("before", ()), {"role": "user", "content": content}]
    body = {**target.fixed, **options, "messages": messages, "stream": True, "max_tokens": max_tokens}
    body.pop("before", None)
    sent = json.dumps(body).encode()
    head = (
        f"POST {target.path} HTTP/1.1\r\nHost: {target.host}\r\nContent-Type: application/json\r\n"
        f"Connection: close\r\nContent-Length: {len(sent)}\r\n\r\n"
    )
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    transport, protocol = await loop.create_connection(
        lambda: _RequestProtocol(head.encode() + sent), target.host, target.port
    )
    try:
        await protocol.over
    finally:
        transport.close()
    return _Recording(began, protocol.pieces, max_tokens)


def _stream(reads: Sequence[tuple[float, bytes]], max_tokens: int) -> Stream:
    """Parse the events in the order of arrival; lines of the chunked encoding are skipped."""
    arrivals: list[float] = []
    tokens = 0
    rest = b""
    for arrived, part in reads:
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            if not line.startswith(b"data:") or not line[5:].strip().startswith(b"{"):
                continue
            chunk = json.loads(line[5:])
            if "choices" not in chunk:
                raise BenchmarkError(f"the server failed: {line[5:].decode()}")
            if any(_has_content(choice["delta"]) for choice in chunk["choices"]):
                arrivals.append(arrived)
            tokens = (chunk.get("usage") or {}).get("completion_tokens", tokens)
    if tokens == max_tokens and not arrivals:
        arrivals.append(reads[-1][0])  # a single token may be part of a character: the answer has no text
    if tokens != max_tokens:
        answer = b"".join(part for _, part in reads)[:300].decode(errors="replace")
        raise BenchmarkError(f"expected {max_tokens} tokens, got {tokens} in {len(arrivals)} events: {answer}")
    return Stream(tuple(arrivals), tokens)


def _has_content(delta: Mapping[str, Any]) -> bool:
    return any(delta.get(name) for name in ("content", "reasoning_content", "tool_calls"))


async def load(
    target: BenchmarkTarget, *, streams: int, repeats: int, max_tokens: int, options: Mapping[str, Any], seed: int
) -> Load:
    """Run concurrent clients, each of which sends `repeats` requests one after another."""
    generator = random.Random(seed)
    questions = [[prompt(generator) for _ in range(repeats)] for _ in range(streams)]

    async def client(number: int) -> list[_Recording]:
        return [
            await _read(target, question, max_tokens, {**options, "seed": number * repeats + at})
            for at, question in enumerate(questions[number])
        ]

    processes = ProcessGroup(target.pid)
    cpu_before, began = processes.cpu_s, time.perf_counter()
    async with asyncio.timeout(DEADLINE_S):
        answers = await asyncio.gather(*map(client, range(streams)))
    wall = time.perf_counter() - began
    spent = processes.cpu_s - cpu_before
    measured = tuple(read.stream() for answer in answers for read in answer)
    return Load(measured, wall, spent, processes.rss_bytes)


async def worst_gap_s(
    target: BenchmarkTarget, *, running: int, words: int, max_tokens: int, options: Mapping[str, Any], seed: int
) -> float:
    """Return the longest gap of running streams while a long prompt is processed.

    seed: must differ between calls, otherwise the prompt is in the prefix cache.
    """
    generator = random.Random(seed)
    streams = [asyncio.create_task(ask(target, prompt(generator), max_tokens, options)) for _ in range(running)]
    await asyncio.sleep(0.3)
    if words:
        await ask(target, prompt(generator, words), 1, options)
    return max(gap for stream in await asyncio.gather(*streams) for gap in stream.gaps_s)
