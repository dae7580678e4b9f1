"""How long the suite takes: the whole plan against a stub that answers after 50 ms, beside schemathesis.

`python benchmarks/suite_speed.py` prints a table: wall time as a multiple of what the latency alone costs, CPU time for
each exchange, and the wall time of the command line of schemathesis for as many requests to the same stub, in turns.
With `--memory` it also prints the memory that hostile answers cost.
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
from conformance.run.run import Budget, Run
from conformance.run.session import Wishes, conclude, prepare_server
from openapi.contract.contract import load
from openapi.description.description import describe

if TYPE_CHECKING:
    from multiprocessing.queues import Queue as Line

DIALECT: Final = "mindie-2.3"
LATENCY_S: Final = 0.05
CONCURRENCY: Final = 16
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
class Figures:
    """One turn. Seconds, seconds of CPU, and requests."""

    wall_s: float
    cpu_s: float
    requests: int


def serve(line: Line[int]) -> None:
    """The stub: a process of its own, answers every request after the latency, streams where asked to."""

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
    """A good answer."""
    body, kind = (STREAM + b"data: [DONE]\n\n", b"text/event-stream") if streams else (ANSWER, b"application/json")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (kind, len(body), body))


async def hostile(writer: asyncio.StreamWriter, head: bytes) -> None:
    """An answer that means to fill the memory."""
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


def ours(url: str) -> Figures:
    """The whole plan, from the first request to the verdict."""
    wishes = Wishes(url=url, dialect=DIALECT, model="stub", budget=Budget(concurrency=CONCURRENCY))
    prepared = asyncio.run(prepare_server(wishes, None))

    async def run() -> tuple[Figures, Run]:
        wall, cpu = time.perf_counter(), time.process_time()
        async with Client(url) as client:
            run = Run(prepared.plan, client, prepared.target, prepared.contract, "stub", wishes.budget)
            record = await run.execute()
        return Figures(time.perf_counter() - wall, time.process_time() - cpu, record.requests), run

    figures, run_ = asyncio.run(run())
    conclude(prepared, run_.record, "2026-01-01T00:00:00+00:00", figures.wall_s)
    return figures


def bare(url: str, requests: int) -> float:
    """Seconds that the same number of requests takes without any of our code: what the machine allows just now."""
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
        await asyncio.gather(*(worker((requests + at) // CONCURRENCY) for at in range(CONCURRENCY)))
        return time.perf_counter() - wall

    return asyncio.run(run())


def theirs(url: str, requests: int, folder: Path) -> Figures:
    """The command line of schemathesis, stopped after as many requests."""
    path = folder / "description.json"
    path.write_text(json.dumps(describe(load(DIALECT))), encoding="utf-8")
    command = [shutil.which("st") or str(Path(sys.executable).with_name("st")), "run", str(path), "--url", url]
    command += ["--phases", "coverage", "--workers", str(CONCURRENCY), "--continue-on-failure", "--no-color"]
    command += ["--checks", "not_a_server_error"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = time.perf_counter()
    said = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)  # noqa: S603 - our own
    wall_s = time.perf_counter() - wall
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = [line.split() for line in said.stdout.splitlines() if "generated" in line]
    found = [word for words in told for word in words if word.isdigit()]
    sent = int(found[0]) if found else 0
    if not sent:
        raise SystemExit(f"schemathesis said nothing of its cases: {said.stdout[-2000:]}{said.stderr[-500:]}")
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Figures(wall_s * requests / sent, cpu_s * requests / sent, requests)


def memory(url: str) -> None:
    """What hostile answers cost, each in this process: the most that it ever held."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  before   most memory so far {before:.0f} MiB")  # noqa: T201 - a benchmark prints
    for kind in ("headers", "line", "stream", "bomb"):

        async def send(kind: str = kind) -> str:
            async with Client(url) as client:
                call = Call("x", "x", "x", "GET", f"/hostile/{kind}", deadline_s=30.0)
                exchange = await client.send(call)
                return exchange.failure.kind if exchange.failure else "answered"

        came = asyncio.run(send())
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"  {kind:<8} {came:<12} most memory so far {most:.0f} MiB")  # noqa: T201 - a benchmark prints


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--alone", action="store_true", help="without schemathesis")
    asked = parser.parse_args()
    line: Line[int] = Queue()
    stub = Process(target=serve, args=(line,), daemon=True)
    stub.start()
    url = f"http://127.0.0.1:{line.get()}"
    try:
        mine, other, least = [], [], []
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(asked.rounds):
                mine.append(ours(url))
                least.append(bare(url, mine[-1].requests))
                if not asked.alone:
                    other.append(theirs(url, mine[-1].requests, Path(folder)))
        requests = mine[0].requests
        floor_s = requests * LATENCY_S / CONCURRENCY
        wall_s = statistics.median(each.wall_s for each in mine)
        cpu_ms = 1000 * statistics.median(each.cpu_s / each.requests for each in mine)
        load = ", ".join(f"{number:.1f}" for number in os.getloadavg())
        print(f"{requests} requests, load {load}")  # noqa: T201
        print(f"  chatproof     {wall_s:.2f} s = {wall_s / floor_s:.2f} x latency; {cpu_ms:.2f} ms CPU per exchange")  # noqa: T201
        print(f"  bare sockets  {statistics.median(least):.2f} s = {statistics.median(least) / floor_s:.2f} x latency")  # noqa: T201
        if other:
            ratio = statistics.median(two.wall_s / one.wall_s for one, two in zip(mine, other, strict=True))
            st_ms = 1000 * statistics.median(each.cpu_s / each.requests for each in other)
            st_s = statistics.median(each.wall_s for each in other)
            print(f"  schemathesis  {st_s:.2f} s for as many: {ratio:.1f} x ours; {st_ms:.2f} ms CPU")  # noqa: T201
        if asked.memory:
            memory(url)
    finally:
        stub.terminate()


if __name__ == "__main__":
    main()
