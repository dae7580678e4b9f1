"""Measures the speed of the suite with a stub server that answers after 50 ms, compared with schemathesis.

`python benchmarks/suite_speed.py` prints wall time as a multiple of the pure latency, CPU time per exchange, and the
wall time of schemathesis' command line for the same number of requests to the same stub, in alternating rounds. With
`--memory` it also prints the memory used for hostile responses.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from multiprocessing import Process, Queue
from pathlib import Path
from typing import TYPE_CHECKING, Final

from conformance.client.call import Call
from conformance.client.client import Client
from conformance.record import BudgetLimits
from conformance.run.calls import ServerUnderTest
from conformance.run.run import Run
from conformance.run.session.conclusion import conclude
from conformance.run.session.options import RunOptions
from conformance.run.session.preparation import prepare_server
from openapi.contract.contract import load
from openapi.description.description import describe

if TYPE_CHECKING:
    from multiprocessing.queues import Queue as Line

DIALECT: Final = "mindie-2.3"
LATENCY_S: Final = 0.05
ANSWER: Final = json.dumps(
    {
        "id": "a", "object": "chat.completion", "created": 1, "model": "stub", "prefill_time": 1, "decode_time_arr": [],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
).encode()  # fmt: skip
CHUNK: Final = b'{"id":"a","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":%s}]}'
STREAM: Final = b"".join(
    b"data: " + CHUNK % delta + b"\n\n" for delta in (b'{"role":"assistant"}', *[b'{"content":"Hi "}'] * 20, b"{}")
)


@dataclass(frozen=True, slots=True)
class SuiteFigures:
    """One round: wall time, CPU time and number of requests."""

    wall_s: float
    cpu_s: float
    requests: int


def serve(line: Line[int]) -> None:
    """Run the stub server: it answers every request after the latency, as a stream if requested."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.lower().split(b"\r\n")
                length = next((int(part[15:]) for part in lines if part.startswith(b"content-length:")), 0)
                body = await reader.readexactly(length)
                await asyncio.sleep(LATENCY_S)
                if b"/hostile/" in head:
                    return await hostile(writer, head)
                plain(writer, b'"stream": true' in body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        line.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def plain(writer: asyncio.StreamWriter, streams: bool) -> None:
    """Write a valid answer."""
    body, kind = (STREAM + b"data: [DONE]\n\n", b"text/event-stream") if streams else (ANSWER, b"application/json")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (kind, len(body), body))


async def hostile(writer: asyncio.StreamWriter, head: bytes) -> None:
    """Write a response that tries to exhaust the memory."""
    kind = head.split(b"/hostile/")[1].split(b" ")[0].decode()
    start = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    if kind == "headers":
        writer.write(start)
        for number in range(200_000):
            if writer.transport.is_closing():
                break
            writer.write(b"X-%d: x\r\n" % number)
    elif kind == "bomb":
        body = gzip.compress(b"\0" * 2**28)
        writer.write(start + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    else:
        writer.write(start + b"Connection: close\r\n\r\ndata: ")
        piece = b"x" * 65536 if kind == "line" else b"x\n\ndata: " * 8192
        for _ in range(400 * 16 if kind == "line" else 2**30):
            if writer.transport.is_closing():
                break
            writer.write(piece)
            await writer.drain()
    writer.close()


def ours(url: str, concurrency: int) -> SuiteFigures:
    """Run the whole plan, from the first request to the verdict."""
    options = RunOptions(url=url, dialect=DIALECT, model="stub", budget=BudgetLimits(concurrency=concurrency))
    prepared = asyncio.run(prepare_server(options, None))

    async def run() -> tuple[SuiteFigures, Run]:
        wall, cpu = time.perf_counter(), time.process_time()
        async with Client(url) as client:
            run = Run(prepared.plan, ServerUnderTest(client, prepared.target, "stub"), options.budget)
            record = await run.execute()
        return SuiteFigures(time.perf_counter() - wall, time.process_time() - cpu, record.requests), run

    figures, run_ = asyncio.run(run())
    conclude(prepared, run_.record, "2026-01-01T00:00:00+00:00", figures.wall_s)
    return figures


def bare(url: str, requests: int, concurrency: int) -> float:
    """Return the seconds that the same number of requests takes with bare sockets, the limit of the machine."""
    host, port = url.removeprefix("http://").split(":")
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}"

    async def worker(number: int) -> None:
        for _ in range(number):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(head)
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(len(ANSWER))
            writer.close()

    async def run() -> float:
        wall = time.perf_counter()
        await asyncio.gather(*(worker((requests + at) // concurrency) for at in range(concurrency)))
        return time.perf_counter() - wall

    return asyncio.run(run())


def theirs(url: str, requests: int, concurrency: int, folder: Path) -> SuiteFigures:
    """Run the command line of schemathesis; its time is scaled to the number of requests."""
    path = folder / "description.json"
    path.write_text(json.dumps(describe(load(DIALECT))), encoding="utf-8")
    command = [shutil.which("st") or str(Path(sys.executable).with_name("st")), "run", str(path), "--url", url]
    command += ["--phases", "coverage", "--workers", str(concurrency), "--continue-on-failure", "--no-color"]
    command += ["--checks", "not_a_server_error"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = time.perf_counter()
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)  # noqa: S603 - our own
    wall_s = time.perf_counter() - wall
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = [line.split() for line in result.stdout.splitlines() if "generated" in line]
    counts = [word for words in lines for word in words if word.isdigit()]
    sent = int(counts[0]) if counts else 0
    if not sent:
        raise SystemExit(f"schemathesis printed no number of cases: {result.stdout[-2000:]}{result.stderr[-500:]}")
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return SuiteFigures(wall_s * requests / sent, cpu_s * requests / sent, requests)


def memory(url: str) -> None:
    """Print the peak memory of this process after each kind of hostile response."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  before   peak memory {before:.0f} MiB")
    for kind in ("headers", "line", "stream", "bomb"):

        async def send(kind: str = kind) -> str:
            async with Client(url) as client:
                call = Call("x", "x", "x", "GET", f"/hostile/{kind}", deadline_s=30.0)
                exchange = await client.send(call)
                return exchange.failure.kind if exchange.failure else "answered"

        outcome = asyncio.run(send())
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"  {kind:<8} {outcome:<12} peak memory {most:.0f} MiB")


def main() -> None:
    """Run the benchmark and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--alone", action="store_true", help="without schemathesis")
    options = parser.parse_args()
    line: Line[int] = Queue()
    stub = Process(target=serve, args=(line,), daemon=True)
    stub.start()
    url = f"http://127.0.0.1:{line.get()}"
    try:
        mine, other, least = [], [], []
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(options.rounds):
                mine.append(ours(url, options.concurrency))
                least.append(bare(url, mine[-1].requests, options.concurrency))
                if not options.alone:
                    other.append(theirs(url, mine[-1].requests, options.concurrency, Path(folder)))
        requests = mine[0].requests
        latency_s = requests * LATENCY_S / options.concurrency
        wall_s = statistics.median(round_.wall_s for round_ in mine)
        cpu_ms = 1000 * statistics.median(round_.cpu_s / round_.requests for round_ in mine)
        load = ", ".join(f"{number:.1f}" for number in os.getloadavg())
        print(f"{requests} requests, {options.concurrency} at a time, load {load}")
        print(f"  chatproof     {wall_s:.2f} s = {wall_s / latency_s:.2f} x latency; {cpu_ms:.2f} ms CPU per exchange")
        print(
            f"  bare sockets  {statistics.median(least):.2f} s = {statistics.median(least) / latency_s:.2f} x latency"
        )
        if other:
            ratio = statistics.median(two.wall_s / one.wall_s for one, two in zip(mine, other, strict=True))
            st_ms = 1000 * statistics.median(round_.cpu_s / round_.requests for round_ in other)
            st_s = statistics.median(round_.wall_s for round_ in other)
            print(
                f"  schemathesis  {st_s:.2f} s for the same number of requests: {ratio:.1f} x ours; {st_ms:.2f} ms CPU"
            )
        if options.memory:
            memory(url)
    finally:
        stub.terminate()


if __name__ == "__main__":
    main()
