"""The reference server as a child process: its addresses, its commands and its resources."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Self

from openapi.contract.contract import load
from tests.robustness.media_files import data_url, png
from tests.robustness.resources import Resources, measure
from tests.robustness.wire import DIALECTS, MODEL, Answer, chat, post

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT: Final = Path(__file__).resolve().parents[2]
KEY: Final = "sk-canary-5hJq8Zt1Vw3Rk7Pd"
START_S: Final = 180.0  # a cold disk and two busy cores
LIMITS: Final = {"head_s": 1.0, "body_s": 3.0, "unread_s": 2.0, "idle_s": 75.0}
SIDECAR_TOKENS: Final = 500
MAIN: Final = DIALECTS[0]


def child_environment(folder: Path) -> dict[str, str]:
    """Return the environment of a process of ours whose temporary files are in `folder`."""
    return {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


class ReferenceProcess:
    """A reference server for several dialects, all with one engine; options are those of `served`."""

    media_host: Final = "127.0.0.7"

    def __init__(self, **options: Any) -> None:
        self._options = {"slots": 4, "limits": LIMITS, "key": KEY, **options}
        self.addresses: dict[str, str] = {}
        self.expected: str | None = None  # text of the sidecar's answer

    def __enter__(self) -> Self:
        self._folder = TemporaryDirectory()
        self.temporary = Path(self._folder.name, "tmp")
        self.temporary.mkdir()
        self.media_root = Path(self._folder.name, "media")
        self.media_root.mkdir()
        options = {**self._options, "media_root": str(self.media_root), "media_host": self.media_host}
        self._log = Path(self._folder.name, "log").open("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.robustness.served", json.dumps(options)],
            env={**child_environment(self.temporary), "CHATPROOF_PARENT": str(os.getpid())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        watchdog = threading.Timer(START_S, self.process.kill)
        watchdog.start()
        line = self.process.stdout.readline() if self.process.stdout else ""
        watchdog.cancel()
        assert line, self.log()
        self.addresses = json.loads(line)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
        self._log.close()
        self._folder.cleanup()

    def log(self) -> str:
        """Return what the server has written to its log."""
        return Path(self._log.name).read_text(encoding="utf-8")

    def command(self, name: str, **arguments: int) -> dict[str, int]:
        """Execute a command in the server, and return its counts."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"name": name, **arguments}) + "\n")
        self.process.stdin.flush()
        counts: dict[str, int] = json.loads(self.process.stdout.readline())
        return counts

    def resources(self) -> Resources:
        """Return what the server uses now."""
        return measure(self.process.pid, self.temporary, sum(self.command("counts").values()))

    def post(self, dialect: str = MAIN, body: bytes | None = None, /, **parameters: Any) -> Answer:
        """Send a chat request with the right key; `parameters` change its JSON unless a body is given."""
        headers = {"Authorization": f"Bearer {KEY}"}
        return post(self.addresses[dialect] + load(dialect).path, chat(**parameters) if body is None else body, headers)

    def status(self, kind: str, dialect: str = MAIN) -> int:
        """Return the status of a kind of error."""
        return load(dialect).errors.kinds[kind].status

    def warm_up(self) -> None:
        """Start every thread that requests need, and learn the sidecar's answer."""
        large = json.dumps({"model": MODEL, "messages": [{"role": "user", "content": "x" * 300_000}]}).encode()
        for _ in range(2):
            threads = [threading.Thread(target=self.post, args=(DIALECTS[at % 2],)) for at in range(12)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for dialect in DIALECTS:
                self.post(dialect, large)
        self._load_media()
        self.expected = Sidecar(self).run_once()

    def _load_media(self) -> None:
        """Start the threads and processes that load media."""
        url = data_url(png(4, 4)[:40])
        for dialect, location in zip(DIALECTS, ({"url": url}, url), strict=True):
            content = {"content": [{"type": "image_url", "image_url": location}]}
            threads = [threading.Thread(target=self.post, args=(dialect,), kwargs=content) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def wait_until_released(self, before: Resources, seconds: float) -> Resources:
        """Wait until every count is as before, and the memory almost so; return the resources at the end."""
        end = time.monotonic() + seconds
        while ((now := self.resources()).leaked(before) or now.has_grown(before)) and time.monotonic() < end:
            time.sleep(0.05)
        return now

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.process.send_signal(signal.SIGTERM)


@dataclass
class Sidecar:
    """A healthy client that streams while something else happens; see the module `sidecar`."""

    server: ReferenceProcess
    report: Mapping[str, Any] = field(default_factory=dict)

    def __enter__(self) -> Self:
        host, port = self.server.addresses[MAIN].removeprefix("http://").split(":")
        options = {"stream": True, "temperature": 0, "ignore_eos": True, "max_tokens": SIDECAR_TOKENS}
        body = chat("Tell me a long story.", **options).decode()
        head = f"POST {load(MAIN).path} HTTP/1.0\r\nAuthorization: Bearer {KEY}\r\nContent-Length: {len(body)}\r\n\r\n"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.robustness.sidecar", host, port],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"request": head + body, "expected": self.server.expected}) + "\n")
        self._process.stdin.flush()
        self._process.stdout.readline()
        return self

    def __exit__(self, *_: object) -> None:
        output, _errors = self._process.communicate(timeout=60)
        self.report = json.loads(output or "{}")

    def run_once(self) -> str:
        """Return the text of one whole answer."""
        with self:
            deadline = time.monotonic() + START_S
            answer = self.server.post(
                MAIN,
                None,
                content="Tell me a long story.",
                temperature=0,
                ignore_eos=True,
                max_tokens=SIDECAR_TOKENS,
            )
            assert time.monotonic() < deadline
        message = answer.json()["choices"][0]["message"]
        return str(message.get("reasoning") or "") + str(message.get("content") or "")
