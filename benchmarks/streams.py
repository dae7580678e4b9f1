"""Streams of one server, read as they come: when each token arrived, and what it cost the server."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
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
    """A server did not answer as the measurement needs it."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server. pid: its process. fixed: members of every body that it is sent."""

    host: str
    port: int
    path: str
    pid: int
    fixed: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stream:
    """One answer. arrivals_s: since it was asked for, of every event with text; tokens: that it counts itself."""

    arrivals_s: tuple[float, ...]
    tokens: int

    @property
    def gaps_s(self) -> list[float]:
        """Between two events with text."""
        return [later - earlier for earlier, later in zip(self.arrivals_s, self.arrivals_s[1:], strict=False)]


@dataclass(frozen=True, slots=True)
class Load:
    """What one load measured. wall_s, cpu_s: for all tokens; rss_bytes: after it."""

    streams: tuple[Stream, ...]
    wall_s: float
    cpu_s: float
    rss_bytes: int

    def figures(self) -> dict[str, float]:
        """The figures of the table, by name."""
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
    """The value that a share of all do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def prompt(generator: random.Random, words: int = 24) -> str:
    """A question that no other begins like."""
    return " ".join(generator.choice(WORDS) for _ in range(words))


class _Reading(asyncio.Protocol):
    """One request, and what comes back until the server is done: as little work for each piece as can be.

    pieces: (time on the clock of time.perf_counter, in seconds; bytes).
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
class _Read:
    """What came of one request, not yet looked at: that is left for when nobody is being measured."""

    began: float
    pieces: list[tuple[float, bytes]]
    max_tokens: int

    def stream(self) -> Stream:
        return _stream([(at - self.began, piece) for at, piece in self.pieces], self.max_tokens)


async def ask(target: Target, content: str, max_tokens: int, options: Mapping[str, Any]) -> Stream:
    """One streamed answer, over a connection of its own; options: members of its body, and `before`: earlier turns."""
    return (await _read(target, content, max_tokens, options)).stream()


async def _read(target: Target, content: str, max_tokens: int, options: Mapping[str, Any]) -> _Read:
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
    transport, reading = await loop.create_connection(lambda: _Reading(head.encode() + sent), target.host, target.port)
    try:
        await reading.over
    finally:
        transport.close()
    return _Read(began, reading.pieces, max_tokens)


def _stream(reads: Sequence[tuple[float, bytes]], max_tokens: int) -> Stream:
    """Events in the order of their arrival; HTTP's own lines between them are no events."""
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
            if any(_says(choice["delta"]) for choice in chunk["choices"]):
                arrivals.append(arrived)
            tokens = (chunk.get("usage") or {}).get("completion_tokens", tokens)
    if not arrivals or tokens != max_tokens:
        answer = b"".join(part for _, part in reads)[:300].decode(errors="replace")
        raise BenchmarkError(f"{tokens} tokens and {len(arrivals)} texts came of {max_tokens}: {answer}")
    return Stream(tuple(arrivals), tokens)


def _says(delta: Mapping[str, Any]) -> bool:
    return any(delta.get(name) for name in ("content", "reasoning_content", "tool_calls"))


async def load(
    target: Target, *, streams: int, repeats: int, max_tokens: int, options: Mapping[str, Any], seed: int
) -> Load:
    """So many clients at once, each of which asks a few times, one answer after the other."""
    generator = random.Random(seed)
    questions = [[prompt(generator) for _ in range(repeats)] for _ in range(streams)]

    async def client(number: int) -> list[_Read]:
        return [
            await _read(target, question, max_tokens, {**options, "seed": number * repeats + at})
            for at, question in enumerate(questions[number])
        ]

    cpu_before, began = cpu_s(target.pid), time.perf_counter()
    async with asyncio.timeout(DEADLINE_S):
        answers = await asyncio.gather(*map(client, range(streams)))
    wall = time.perf_counter() - began
    spent = cpu_s(target.pid) - cpu_before
    made = tuple(read.stream() for answer in answers for read in answer)
    return Load(made, wall, spent, rss_bytes(target.pid))


async def worst_gap_s(
    target: Target, *, running: int, words: int, max_tokens: int, options: Mapping[str, Any], seed: int
) -> float:
    """The longest wait of running streams between two texts, while a long prompt comes in.

    seed: another one for each time, or the prompt would be known already.
    """
    generator = random.Random(seed)
    streams = [asyncio.create_task(ask(target, prompt(generator), max_tokens, options)) for _ in range(running)]
    await asyncio.sleep(0.3)
    if words:
        await ask(target, prompt(generator, words), 1, options)
    return max(gap for stream in await asyncio.gather(*streams) for gap in stream.gaps_s)


def cpu_s(pid: int) -> float:
    """CPU time of a process, in user and kernel mode."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def rss_bytes(pid: int) -> int:
    """Resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
