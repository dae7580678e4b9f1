"""Measures the overhead of the gateway: latency of the first and of each chunk, CPU time and memory.

    python -m benchmarks.gateway [--rounds 5] [--streams 1 --streams 16]

A scripted upstream writes the time into every chunk, on a clock that all processes share, so the reader knows how
long the chunk was in transit. Clients read it directly and through the gateway, alternating within each round. The
table contains the medians of the rounds and of their differences. With chatproof as upstream only the first chunk is
measured.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, Final

import click
import httpx
from rich.table import Table

from benchmarks.process_group import ProcessGroup
from openapi.console import make_console
from openapi.stream import sse
from reference_server.upstream.client.server import Deadlines, UpstreamAddress, UpstreamServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.connection import Connection

CHUNKS: Final = 100
PACE_S: Final = 0.01
FLOOD: Final = 20_000
NANOSECONDS: Final = 1e9
MOMENT: Final = re.compile(rb'"content": ?"(\d{6,}) ')
ADDRESS: Final = re.compile(r"at (http://[\w.:]+)$")
MESSAGES: Final = [{"role": "user", "content": "Hello"}]
HEAD: Final = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def upstream(pipe: Connection) -> None:
    """Run a server like vLLM: paced chunks that contain their time, or a flood of chunks if max_tokens is 1."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                if head.startswith(b"GET"):
                    body = json.dumps({"data": [{"id": "m", "owned_by": "vllm"}]}).encode()
                    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
                    continue
                length = int(re.findall(rb"content-length: (\d+)", head.lower())[0])
                flood = json.loads(await reader.readexactly(length)).get("max_tokens") == 1
                writer.write(HEAD)
                number = FLOOD if flood else CHUNKS
                for _ in range(number):
                    text = "x" * 64 if flood else f"{time.monotonic_ns()} "
                    writer.write(_event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}))
                    await (writer.drain() if flood else asyncio.sleep(PACE_S))
                writer.write(_event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))
                counts = {"prompt_tokens": 5, "completion_tokens": number + 1, "total_tokens": number + 6}
                writer.write(_event({"choices": [], "usage": counts}) + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def _event(chunk: dict[str, Any]) -> bytes:
    data = b"data: " + json.dumps(chunk).encode() + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(data), data)


@contextmanager
def scripted() -> Iterator[str]:
    """Start the scripted upstream in its own process, and yield its address."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=upstream, args=(theirs,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.kill()
        process.join()


@contextmanager
def served(*arguments: str) -> Iterator[tuple[str, int]]:
    """Start a chatproof server, and yield its address and process id."""
    command = [
        sys.executable,
        "-m",
        "reference_server",
        "--dialect",
        "mindie",
        "--port",
        "0",
        "--model",
        "m",
        *arguments,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own module
        try:
            line = process.stdout.readline().strip() if process.stdout else ""
            match = ADDRESS.search(line)
            if match is None:
                raise click.ClickException(f"the server did not start: {line}")
            yield match.group(1), process.pid
        finally:
            process.terminate()


async def stream(address: str, **fields: Any) -> tuple[float, list[float]]:
    """Return the seconds to the first chunk with text, and the transit time of each chunk that contains its time."""
    host, port = address.removeprefix("http://").split(":")
    body = json.dumps({"model": "m", "messages": MESSAGES, "stream": True, **fields}, separators=(",", ":")).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    started = time.monotonic_ns()
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(head.encode() + body)
    first, ways = 0.0, []
    while data := await reader.read(65_536):
        now = time.monotonic_ns()
        if not first and b'"content"' in data:
            first = (now - started) / NANOSECONDS
        ways += [(now - int(moment)) / NANOSECONDS for moment in MOMENT.findall(data)]
        if b"[DONE]" in data:
            break
    writer.close()
    return first, ways


async def load(address: str, streams: int, **fields: Any) -> tuple[list[float], list[float]]:
    """Return the first-chunk times and the transit times of concurrent streams."""
    results = await asyncio.gather(*(stream(address, **fields) for _ in range(streams)))
    return [first for first, _ in results], [transit for _, transits in results for transit in transits]


def p50_p99(values: Sequence[float]) -> tuple[float, float]:
    """Return median and 99th percentile in milliseconds."""
    cuts = quantiles(values, n=100, method="inclusive")
    return cuts[49] * 1e3, cuts[98] * 1e3


def paired(table: Table, what: str, direct: str, through: str, rounds: int, streams: int, **fields: Any) -> None:
    """Add rows of first-chunk and transit times: direct, through the gateway, and the difference."""
    rows: dict[str, list[tuple[float, float, float, float]]] = {direct: [], through: []}
    for turn in range(rounds + 1):  # the first warms up
        for address in (direct, through) if turn % 2 else (through, direct):
            firsts, ways = asyncio.run(load(address, streams, **fields))
            row = (*p50_p99([*firsts, *firsts]), *(p50_p99(ways) if ways else (0.0, 0.0)))
            if turn:
                rows[address].append(row)
    for name, at in (("first chunk", 0), ("each chunk", 2)):
        if not any(row[at] for row in rows[direct]):
            continue
        cells = []
        for place in (at, at + 1):
            pair = [[row[place] for row in rows[address]] for address in (direct, through)]
            added = median(there - here for here, there in zip(*pair, strict=True))
            cells += [f"{median(pair[0]):.2f}", f"{median(pair[1]):.2f}", f"{added:+.2f}"]
        table.add_row(what, str(streams), name, *cells)


async def flood_s(address: str, *, own: bool) -> float:
    """Return the CPU time per event of a flood for the gateway's client or for httpx."""
    body = json.dumps({"model": "m", "messages": MESSAGES, "max_tokens": 1, "stream": True}, separators=(",", ":"))
    decoder, events = sse.Decoder(max_events=10 * FLOOD), 0
    before = time.process_time()
    if own:
        server = UpstreamServer(UpstreamAddress.parse(address), None, Deadlines())
        reply = await server.post("/v1/chat/completions", body.encode())
        while data := await reply.read():
            events += len(decoder.feed(data, 0.0))
        server.close()
    else:
        async with (
            httpx.AsyncClient() as client,
            client.stream("POST", f"{address}/v1/chat/completions", content=body) as r,
        ):
            async for data in r.aiter_bytes():
                events += len(decoder.feed(data, 0.0))
    return (time.process_time() - before) / events


async def unread(address: str, clients: int, pid: int) -> tuple[float, float]:
    """Return the memory of a gateway before and while clients do not read a flood of chunks."""
    host, port = address.removeprefix("http://").split(":")
    body = json.dumps({"model": "m", "messages": MESSAGES, "max_tokens": 1, "stream": True}).encode()
    before = ProcessGroup(pid).rss_bytes / 2**20
    writers = []
    for _ in range(clients):
        _, writer = await asyncio.open_connection(host, int(port), limit=1024)
        writer.write(
            f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
        )
        writers.append(writer)
    used, since = -1.0, 0
    while since < 10:  # until its CPU time has not changed for two seconds
        await asyncio.sleep(0.2)
        now = ProcessGroup(pid).cpu_s
        used, since = now, since + 1 if now - used < 0.01 else 0
    after = ProcessGroup(pid).rss_bytes / 2**20
    for writer in writers:
        writer.close()
    return before, after


@click.command()
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(2))
@click.option("--streams", "counts", multiple=True, default=(1, 16), show_default=True, type=click.IntRange(1))
def main(rounds: int, counts: tuple[int, ...]) -> None:
    """Run the benchmark and print the overhead."""
    console = make_console()
    columns = ("direct p50", "gateway p50", "added", "direct p99", "gateway p99", "added")
    table = Table("upstream", "streams", "ms to", *columns, title="Overhead of the gateway")
    with scripted() as direct, served("--upstream", direct) as (through, pid):
        for count in counts:
            paired(table, "scripted", direct, through, rounds, count)
        before = ProcessGroup(pid).cpu_s
        asyncio.run(load(through, max(counts)))
        busy = (ProcessGroup(pid).cpu_s - before) / (max(counts) * CHUNKS)
        before = ProcessGroup(pid).cpu_s
        asyncio.run(load(through, 1, max_tokens=1))
        flood = (ProcessGroup(pid).cpu_s - before) / FLOOD
        resting, loaded = asyncio.run(unread(through, 16, pid))
        clients = [[asyncio.run(flood_s(direct, own=own)) for own in (True, False)] for _ in range(rounds)]
    with served("--device", "cpu") as (direct, _), served("--upstream", direct) as (through, _):
        for count in counts:
            paired(table, "chatproof", direct, through, rounds, count, temperature=0, max_tokens=16)
    console.print(table)
    console.print(f"gateway, CPU time per chunk: {busy * 1e6:.0f} us paced, {flood * 1e6:.0f} us in a flood")
    ours, theirs = (median(column) * 1e6 for column in zip(*clients, strict=True))
    console.print(f"client, CPU time per event of a flood: chatproof {ours:.1f} us, httpx {theirs:.1f} us")
    console.print(f"gateway, memory: {resting:.0f} MiB idle, {loaded:.0f} MiB with 16 clients that do not read")
    console.print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
