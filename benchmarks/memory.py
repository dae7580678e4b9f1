"""Measure the greatest memory (max RSS) of complete runs of `check` and `load` against honest and hostile servers.

Each run is a process of its own. Exit code 1 if one takes more than 256 MB, ends with an internal error, or runs on
after its time.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from conformance.run.embedded_server import serve
from openapi.contract.contract import load

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT_MB: Final = 256
GRACE_S: Final = 120
"""How much longer than its time a run may take on a busy machine, with its start."""
MB: Final = 1_000_000
EVENT_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
CHUNKED: Final = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
DELTA: Final = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'


def answer(body: bytes, headers: str = "") -> bytes:
    """Return a complete HTTP response."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body


def completion(content: object, **fields: object) -> bytes:
    """Return a plain answer."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return json.dumps(
        {"id": "a", "object": "chat.completion", "created": 1, "choices": [choice], "usage": usage, **fields}
    ).encode()


COUNT: Final = b'"completion_tokens": 1'
BOMB: Final = gzip.compress(b"0" * (256 * MB))


def pieces_of(server: str) -> Iterator[bytes]:
    """Return the pieces that a hostile server answers every request with."""
    whole = {
        "1 MB of text": lambda: answer(completion("a" * MB)),
        "1 MB of objects": lambda: answer(completion([{}] * (MB // 4))),
        "1 MB of nesting": lambda: answer(completion("@").replace(b'"@"', b"[" * (MB // 2) + b"]" * (MB // 2))),
        "1 MB of usage": lambda: answer(completion("a", usage={f"t{at}": 10**40 for at in range(MB // 52)})),
        "10^4000 tokens": lambda: answer(completion("a").replace(COUNT, COUNT + b"0" * 4000)),
        "1 MB of model name": lambda: answer(json.dumps({"data": [{"id": "m" * MB}]}).encode()),
        "gzip bomb": lambda: answer(BOMB, "Content-Encoding: gzip\r\n"),
        "64 MB at once": lambda: answer(b"a" * (64 * MB)),
        "1 MB stream": lambda: EVENT_HEAD + DELTA * (MB // len(DELTA)) + b"data: [DONE]\n\n",
        "1 MB event": lambda: EVENT_HEAD + DELTA.replace(b'"a"', b'"' + b"a" * MB + b'"') + b"data: [DONE]\n\n",
    }  # fmt: skip
    endless = {
        "endless stream": (EVENT_HEAD, DELTA * 400),
        "endless tiny events": (EVENT_HEAD, b"data: 1\n\n" * 4000),
        "endless line": (EVENT_HEAD, b"data: " + b"a" * 65_536),
        "endless comments": (EVENT_HEAD, b":\n\n" * 20_000),
        "endless headers": (b"HTTP/1.1 200 OK\r\n", b"".join(b"X-%d: a\r\n" % at for at in range(5000))),
        "endless interim answers": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 2000),
        "endless chunk extensions": (CHUNKED + b"1;", b"a" * 65_536),
        "endless trailers": (CHUNKED + b"1\r\na\r\n0\r\n", b"X-A: a\r\n" * 8000),
    }  # fmt: skip
    if server in whole:
        return iter((whole[server](),))
    first, repeated = endless[server]
    return itertools.chain((first,), itertools.repeat(repeated))


NAMES: Final = (
    "honest", "1 MB of text", "1 MB of objects", "1 MB of nesting", "1 MB of usage", "10^4000 tokens",
    "1 MB of model name", "gzip bomb", "64 MB at once", "1 MB stream", "1 MB event", "endless stream",
    "endless tiny events", "endless line", "endless comments", "endless headers", "endless interim answers",
    "endless chunk extensions", "endless trailers",
)  # fmt: skip


@contextmanager
def hostile_server(name: str) -> Iterator[str]:
    """Serve the same answer to every request in a thread, and yield the URL."""
    loop = asyncio.new_event_loop()
    whole = b"" if name.startswith("endless") else b"".join(pieces_of(name))

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                for line in head.lower().split(b"\r\n"):
                    if line.startswith(b"content-length:"):
                        await reader.readexactly(int(line.split(b":")[1]))
                for piece in (whole,) if whole else pieces_of(name):
                    writer.write(piece)
                    await writer.drain()
                if whole.startswith(EVENT_HEAD):
                    break
        writer.transport.abort() if not whole else writer.close()

    server = loop.run_until_complete(asyncio.start_server(handle, "127.0.0.1", 0, limit=MB))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def run(command: list[str], limit_s: float) -> tuple[int, float, float]:
    """Return the exit code, the max RSS in MB and the seconds of a command; the exit code is -9 after the limit."""
    begun_s, most_kb = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)  # noqa: S603 - our own command
        while process.poll() is None:
            most_kb = max(most_kb, read_peak_kb(process.pid))
            if time.monotonic() > begun_s + limit_s:
                process.kill()
            time.sleep(0.05)
        output.seek(0)
        text = output.read()
        code = 5 if b"Traceback" in text else process.returncode
        if code in (2, 5):
            sys.stderr.write(text[-2000:].decode(errors="replace"))
    return code, most_kb * 1024 / MB, time.monotonic() - begun_s


def read_peak_kb(pid: int) -> int:
    """Return the greatest RSS so far of a process or one that it started.

    Unlike ru_maxrss, this does not begin with the RSS of the process that started it.
    """
    peak = 0
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                peak = int(line.split()[1])
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            peak = max(peak, read_peak_kb(int(child)))
    return peak


def main() -> int:
    """Print a table of all runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check-time", type=float, default=20, help="--max-time of check, in seconds")
    parser.add_argument("--load-time", type=float, default=5, help="seconds of a load test")
    parser.add_argument("--users", type=int, default=50, help="users of a load test")
    parser.add_argument("--only", default="", help="only servers whose name contains this")
    arguments = parser.parse_args()
    bad = 0
    print(f"{'server':26} {'command':6} {'max RSS':>9} {'seconds':>8} exit", flush=True)
    for name in NAMES:
        if arguments.only not in name:
            continue
        with ExitStack() as stack:
            if name == "honest":
                server = stack.enter_context(serve(load("mindie")))
                url, key = server.url, server.key
            else:
                url, key = stack.enter_context(hostile_server(name)), None
            os.environ["BENCHMARK_KEY"] = key or "unused-key"
            common = [url, "--dialect", "mindie", "--api-key-env", "BENCHMARK_KEY"]
            check_time = 300.0 if name == "honest" else arguments.check_time
            timeout = "60" if name == "honest" else "5"
            load_test = ["--users", str(arguments.users), "--time", f"{arguments.load_time}s", "--deadline", timeout]
            hostile = [] if name == "honest" else ["--sample", "1", "--model", "m"]
            commands = {
                "check": (["check", *common, "--max-time", str(check_time), "--timeout", timeout], check_time),
                "load": (["load", *common, *load_test, *hostile], arguments.load_time),
            }
            for command, (line, limit_s) in commands.items():
                code, rss_mb, took_s = run([sys.executable, "-m", "chatproof", *line], limit_s + GRACE_S)
                is_bad = rss_mb > LIMIT_MB or code in (5, -9)
                bad += is_bad
                print(
                    f"{name:26} {command:6} {rss_mb:6.0f} MB {took_s:8.1f} {code:4}{' BAD' if is_bad else ''}",
                    flush=True,
                )
    print(f"{bad} bad runs")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
