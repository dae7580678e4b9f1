"""Run the reference server under a mixed load for some minutes, and measure what it has not given back afterwards.

The load is plain answers, streams, tools and invalid requests; one request in five is abandoned by its client, and one
in a hundred meets a network fault. Nothing may leak: slots, sockets, files and threads are as before, and the memory
grows by less than 64 MB. `tox -e soak -- 10 --users 8 --seed 0`
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from conformance.run.embedded_server import EmbeddedServer, serve
from openapi.contract.contract import Contract, load

Connect = Callable[[str, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
"""Opens a connection to a host and port; a test may connect through a proxy that disturbs the network."""

DISCONNECTS: Final = 0.2
FAULTS: Final = 0.01
MOST_DRIFT_MB: Final = 64
ANSWER_S: Final = 60.0
QUIET_S: Final = 5.0
"""How long the server may take to give everything back."""
TOOL: Final = {
    "type": "function",
    "function": {"name": "get_time", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}


@dataclass(frozen=True, slots=True)
class Resources:
    """What a server process holds."""

    sockets: int
    files: int
    threads: int
    temporary_files: int
    rss_mb: float

    @classmethod
    def measure(cls, pid: int, folder: Path) -> Resources:
        """Read the resources of a process; `folder` is where it creates temporary files."""
        links = []
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                links.append(str(Path(entry.path).readlink()))
        sockets = sum(link.startswith("socket:") for link in links)
        status = dict(
            line.split(":", 1)
            for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
            if ":" in line
        )
        rss_mb = int(status["VmRSS"].split()[0]) / 1024
        return cls(sockets, len(links) - sockets, int(status["Threads"]), sum(1 for _ in folder.rglob("*")), rss_mb)

    def leaks(self, after: Resources) -> list[str]:
        """Return what is more afterwards than the rules allow."""
        leaks = [
            f"{field.name}: {getattr(self, field.name)} before, {getattr(after, field.name)} after"
            for field in fields(self)
            if field.name != "rss_mb" and getattr(after, field.name) > getattr(self, field.name)
        ]
        drift_mb = after.rss_mb - self.rss_mb
        return leaks if drift_mb < MOST_DRIFT_MB else [*leaks, f"memory: {drift_mb:.0f} MB more"]


class Load:
    """Sends a mixed load to a server, and counts the results. The same seed sends the same requests."""

    def __init__(
        self, server: EmbeddedServer, contract: Contract, seed: int, connect: Connect = asyncio.open_connection
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        self._host, port = server.url.removeprefix("http://").rsplit(":", 1)
        self._port, self._key = int(port), server.key
        self._path, self._model = contract.path, contract.default_model
        self._rng = random.Random(seed)
        self._connect = connect

    async def run(self, users: int, seconds: float) -> None:
        """Let users send one request after another."""
        until_s = time.monotonic() + seconds
        progress = asyncio.create_task(self._show_progress(until_s))

        async def use() -> None:
            while time.monotonic() < until_s:
                await self.send_one()

        await asyncio.gather(*(use() for _ in range(users)))
        progress.cancel()

    async def _show_progress(self, until_s: float) -> None:
        while True:
            await asyncio.sleep(30)
            left_s = until_s - time.monotonic()
            line = f"{self.counts.total()} requests, {left_s:.0f} s left, {len(self.problems)} problems"
            print(line, file=sys.stderr, flush=True)

    async def send_one(self, kind: str | None = None) -> None:
        """Send one request of some kind, and perhaps disturb it."""
        rng = self._rng
        kind = kind or rng.choice(("plain", "stream", "stream", "tools", "error"))
        fault = rng.choice(("reset", "half a request", "slow request")) if rng.random() < FAULTS else ""
        leaves_after = rng.randrange(2000) if rng.random() < DISCONNECTS else None
        body = json.dumps(self._body(kind)).encode()
        try:
            async with asyncio.timeout(ANSWER_S):
                status, ended = await self._exchange(body, fault, leaves_after)
        except (OSError, asyncio.IncompleteReadError):
            status, ended = 0, False
        except TimeoutError:
            self.problems.append(f"{kind}: no answer within {ANSWER_S:g} s")
            return
        disturbed = fault or ("disconnect" if leaves_after is not None else "")
        self.counts[disturbed or f"{kind} {status}"] += 1
        if not disturbed and (status not in ((400, 422) if kind == "error" else (200,)) or not ended) and status != 503:
            self.problems.append(f"{kind}: status {status}{'' if ended else ', cut off'}")

    def _body(self, kind: str) -> dict[str, Any]:
        rng = self._rng
        text = " ".join(str(rng.randrange(1000)) for _ in range(rng.choice((3, 30, 200))))
        body: dict[str, Any] = {
            "model": self._model, "messages": [{"role": "user", "content": text}],
            "max_tokens": rng.choice((1, 8, 64)), "temperature": rng.choice((0.1, 1.0)), "seed": rng.randrange(2**31),
        }  # fmt: skip
        if kind == "tools":
            body |= {"tools": [TOOL], "tool_choice": rng.choice(("auto", "required"))}
        if kind == "stream" or (kind == "tools" and rng.random() < 0.5):
            body["stream"] = True
        if kind == "error":
            name, value = rng.choice((("max_tokens", -1), ("messages", []), ("temperature", "hot"), ("seed", 2**70)))
            body[name] = value
        return body

    async def _exchange(self, body: bytes, fault: str, leaves_after: int | None) -> tuple[int, bool]:
        """Return the status, and whether the answer came to its end."""
        reader, writer = await self._connect(self._host, self._port)
        key = f"Authorization: Bearer {self._key}\r\n" if self._key else ""
        head = f"POST {self._path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{key}Connection: close\r\n"
        request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        try:
            if fault == "half a request":
                writer.write(request[: len(request) // 2])
                await writer.drain()
                return 0, False
            for start in range(0, len(request), 40 if fault == "slow request" else len(request)):
                writer.write(request[start : start + (40 if fault == "slow request" else len(request))])
                await writer.drain()
                await asyncio.sleep(0.02 if fault == "slow request" else 0)
            received = b""
            while piece := await reader.read(1024):
                received += piece
                if (leaves_after is not None and len(received) > leaves_after) or fault == "reset":
                    break
            status = int(received[9:12]) if received else 0
            head_bytes, _, content = received.partition(b"\r\n\r\n")
            is_chunked = b"transfer-encoding: chunked" in head_bytes.lower()
            return status, content.endswith(b"0\r\n\r\n") if is_chunked else content.endswith(b"}")
        finally:
            if fault or leaves_after is not None:
                writer.transport.abort()
            else:
                writer.close()


def find_server_process() -> int:
    """Return the process id of the only child of this process."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return int(children[-1])


async def soak(server: EmbeddedServer, pid: int, folder: Path, contract: Contract, options: argparse.Namespace) -> int:
    """Load the server, print the table, and return the exit code."""
    load_generator = Load(server, contract, options.seed)
    warm_up_s = min(60.0, options.minutes * 6)
    await load_generator.run(options.users, warm_up_s)
    await asyncio.sleep(QUIET_S)
    before = Resources.measure(pid, folder)
    await load_generator.run(options.users, options.minutes * 60 - warm_up_s)
    await asyncio.sleep(QUIET_S)
    after = Resources.measure(pid, folder)
    calm = Load(server, contract, options.seed)
    await asyncio.gather(
        *(calm.send_one("plain") for _ in range(options.users))
    )  # a leaked slot would delay one for ever
    problems = [*load_generator.problems, *calm.problems, *before.leaks(after)]
    print(f"{'resource':16} {'before':>9} {'after':>9}")
    for field in fields(Resources):
        print(f"{field.name:16} {getattr(before, field.name):9.0f} {getattr(after, field.name):9.0f}")
    for name, count in sorted(load_generator.counts.items()):
        print(f"{name:24} {count:9}")
    print(f"{load_generator.counts.total()} requests in {options.minutes:g} minutes with seed {options.seed}")
    for problem, count in Counter(problems).most_common(20):
        print(f"{count} x {problem}")
    print("nothing has leaked" if not problems else f"{len(problems)} problems", flush=True)
    return 1 if problems else 0


def main(arguments: list[str] | None = None) -> int:
    """Start the server and load it."""
    parser = argparse.ArgumentParser(prog="tox -e soak --", description=__doc__)
    parser.add_argument("minutes", type=float, nargs="?", default=10.0)
    parser.add_argument("--users", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dialect", default="mindie-2.3")
    options = parser.parse_args(arguments)
    contract = load(options.dialect)
    with tempfile.TemporaryDirectory() as name:
        os.environ["TMPDIR"] = name
        tempfile.tempdir = None
        with serve(contract) as server:
            return asyncio.run(soak(server, find_server_process(), Path(name), contract, options))


if __name__ == "__main__":
    sys.exit(main())
