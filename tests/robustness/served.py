"""The reference server with the embedded checkpoint and short time limits, commanded by its parent through stdin.

`python -m tests.robustness.served OPTIONS`, where OPTIONS is a JSON object, prints the addresses as JSON. Each line on
stdin is a command as JSON, and is answered with one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from contextlib import suppress
from io import FileIO
from pathlib import Path
from queue import SimpleQueue
from socket import SO_SNDBUF, SOL_SOCKET
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.contract import load
from reference_server.engine import LocalEngine
from reference_server.engine.loop.restarts import RestartPolicy
from reference_server.http.app import ChatEndpoint, create_app
from reference_server.http.byte_counts import ConnectionLimits
from reference_server.http.server import EngineStoppedError, Server, bind, tune_process
from reference_server.settings import MediaSources, Settings
from reference_server.tiny.vision import VISION_CHECKPOINT
from tests.robustness.wire import DIALECTS, MODEL

if TYPE_CHECKING:
    from socket import socket

    from fastapi import FastAPI

SLOW_STEP_S: Final = 0.01
JOIN_S: Final = 10.0
RESTART_PAUSE_S: Final = 1.0
SEND_BUFFER_BYTES: Final = 16_384


class WarmServer(Server):
    """A server whose thread pool is complete from the start, so that its threads can be counted."""

    async def startup(self, sockets: list[socket] | None = None) -> None:
        size = min(32, (os.cpu_count() or 1) + 4)  # as asyncio chooses it
        everyone = threading.Barrier(size)
        await asyncio.gather(*(asyncio.to_thread(everyone.wait) for _ in range(size)))
        await super().startup(sockets)


class EngineFaults:
    """Faults of the model, which apply to the requests whose prompt has at least `tokens` tokens."""

    def __init__(self, engine: LocalEngine) -> None:
        self._runner: Any = engine._runner
        self._prefill, self._decode = self._runner.prefill, self._runner.decode

    def run_out_of_memory(self, tokens: int) -> None:
        """Let the next long prompt run out of memory."""

        def prefill(pieces: list[list[int]], *others: Any) -> Any:
            if any(len(piece) >= tokens for piece in pieces):
                raise MemoryError("device 0 at 0xdeadbeef00")
            return self._prefill(pieces, *others)

        self._runner.prefill = prefill

    def fail(self, _: int) -> None:
        """Let the next step fail."""

        def decode(*arguments: Any) -> Any:
            self.repair(0)
            raise RuntimeError("device lost at 0xdeadbeef00")

        self._runner.decode = decode

    def hang(self, _: int) -> None:
        """Let the next step never end."""

        def decode(*arguments: Any) -> Any:
            while True:
                time.sleep(1)

        self._runner.decode = decode

    def slow_down(self, _: int) -> None:
        """Let every step take longer, so that an answer outlives what happens to it."""

        def decode(*arguments: Any) -> Any:
            time.sleep(SLOW_STEP_S)
            return self._decode(*arguments)

        self._runner.decode = decode

    def repair(self, _: int) -> None:
        """Remove all faults."""
        self._runner.prefill, self._runner.decode = self._prefill, self._decode


def endpoint(app: FastAPI) -> ChatEndpoint:
    """Return the handler of chat completions of an application."""
    (found,) = (handler for route in app.routes if isinstance(handler := getattr(route, "endpoint", 0), ChatEndpoint))
    return found


def obey(engine: LocalEngine, apps: list[FastAPI]) -> None:
    """Execute the commands on stdin."""
    faults = EngineFaults(engine)
    # Unbuffered: a thread that waits with the lock of a buffer would break the end of the process.
    for line in FileIO(0, closefd=False):
        command = json.loads(line)
        if command["name"] != "counts":
            getattr(faults, command["name"])(command.get("tokens", 0))
        counts = {
            "requests": sum(endpoint(app)._slots.in_use for app in apps),
            "sequences": len(engine._driver.generations),
            "busy_slots": engine._driver._slots - engine._driver.scheduler.free_slots,
        }
        print(json.dumps(counts), flush=True)


def main() -> int:
    """Serve every dialect until SIGTERM; return the exit code."""
    options = json.loads(sys.argv[1])
    restarts = RestartPolicy(pause_s=RESTART_PAUSE_S)
    grace_s, key, in_flight = options.pop("grace_s", 1.0), options.pop("key"), options.pop("in_flight", 16)
    limits = ConnectionLimits(**options.pop("limits", {}))
    media = MediaSources(Path(options.pop("media_root")), frozenset({options.pop("media_host")}))
    engine = LocalEngine.load(VISION_CHECKPOINT, device="cpu", restarts=restarts, **options)
    settings = Settings(MODEL, api_key=key, max_in_flight=in_flight, media=media)
    addresses: SimpleQueue[str] = SimpleQueue()
    apps, servers = [], []
    for dialect in DIALECTS:
        contract = load(dialect)
        apps.append(create_app(contract, engine, settings))
        server = WarmServer(apps[-1], engine, addresses.put, grace_s=grace_s, limits=limits, errors=contract.errors)
        servers.append(server)
    tune_process()
    first, *others = servers
    listeners = [bind("127.0.0.1", 0) for _ in servers]
    for listener in listeners:  # otherwise the operating system would take megabytes for a client that does not read
        listener.setsockopt(SOL_SOCKET, SO_SNDBUF, SEND_BUFFER_BYTES)

    def run(server: Server, listener: socket) -> None:
        with suppress(EngineStoppedError):  # the first server reports it
            server.run_on(listener)

    pairs = zip(others, listeners[1:], strict=True)
    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in pairs]
    listening = []
    for thread in threads:
        thread.start()
        listening.append(addresses.get())

    def announce(address: str) -> None:
        print(json.dumps(dict(zip(DIALECTS, [address, *listening], strict=True))), flush=True)
        threading.Thread(target=obey, args=(engine, apps), daemon=True).start()

    first._announce = announce
    try:
        first.run_on(listeners[0])
    except EngineStoppedError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        for other in others:
            other.should_exit = True
        for thread in threads:
            thread.join(grace_s + JOIN_S)
        engine.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
