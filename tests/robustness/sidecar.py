"""A healthy client in a process of its own: streams one answer after another, and measures what they suffer.

`python -m tests.robustness.sidecar HOST PORT` reads a JSON object from the first line of stdin: `request` (the bytes of
an HTTP/1.0 request) and `expected` (the text of the whole answer, or null to learn it from the first one). It prints
`started` at the first token, and its measurements when stdin is closed.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from typing import Any, Final

TICK_S: Final = 0.01
PATIENCE_S: Final = 30.0


class StallClock:
    """Measures for how long this process itself did not run, which is not attributed to the server."""

    def __init__(self) -> None:
        self.worst_s = 0.0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        last = time.monotonic()
        while True:
            time.sleep(TICK_S)
            now = time.monotonic()
            self.worst_s = max(self.worst_s, now - last - TICK_S)
            last = now


class Sidecar:
    """The streams so far, and the worst that happened to them."""

    def __init__(self, expected: str | None) -> None:
        self.expected = expected
        self.closing = threading.Event()
        self.worst_gap_s = 0.0
        self.streams = self.tokens = self.refused = 0
        self.problem = ""

    def stream(self, address: tuple[str, int], request: bytes) -> None:
        """Read one answer, or as much as arrives until stdin is closed."""
        received = b""
        last = 0.0
        with socket.create_connection(address, timeout=PATIENCE_S) as connection:
            connection.sendall(request)
            while not self.closing.is_set() and (part := connection.recv(65536)):
                now = time.monotonic()
                self.worst_gap_s = max(self.worst_gap_s, now - last if last else 0.0)
                received, last = received + part, now
                if not self.tokens and b"data:" in received:
                    self.tokens = 1
                    print("started", flush=True)
        self._check(received)

    def _check(self, received: bytes) -> None:
        head, _, body = received.partition(b"\r\n\r\n")
        if b" 503 " in head[:16]:
            self.refused += 1
            time.sleep(TICK_S)
            return
        events = [event for event in body.decode(errors="replace").split("\n\n")[:-1] if event.startswith("data:")]
        chunks = [json.loads(event[5:]) for event in events if "[DONE]" not in event]
        deltas = [choice["delta"] for chunk in chunks for choice in chunk.get("choices", ())]
        text = "".join(str(delta.get("reasoning") or delta.get("content") or "") for delta in deltas)
        whole = not self.closing.is_set()
        self.expected = text if self.expected is None else self.expected
        if (text != self.expected) if whole else not self.expected.startswith(text):
            self.problem = self.problem or f"the text differs: {received[-300:]!r}"
        self.streams += whole
        self.tokens += len(deltas)

    def report(self) -> dict[str, Any]:
        """Return the measurements."""
        names = ("expected", "worst_gap_s", "streams", "tokens", "refused", "problem")
        return {name: getattr(self, name) for name in names}


def main() -> None:
    """Stream until stdin is closed, then print the report."""
    address = (sys.argv[1], int(sys.argv[2]))
    task = json.loads(sys.stdin.readline())
    clock, sidecar = StallClock(), Sidecar(task["expected"])

    def wait() -> None:
        sys.stdin.read()
        sidecar.closing.set()

    threading.Thread(target=wait, daemon=True).start()
    try:
        while not sidecar.closing.is_set() and not sidecar.problem:
            sidecar.stream(address, task["request"].encode())
    except (OSError, ValueError) as error:
        sidecar.problem = f"{type(error).__name__}: {error}"
    print(json.dumps({**sidecar.report(), "stall_s": clock.worst_s}), flush=True)


if __name__ == "__main__":
    main()
