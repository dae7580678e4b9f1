"""The processes that decode media, and what they are asked for."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import weakref
from contextlib import suppress
from queue import SimpleQueue
from threading import Timer
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from openapi.python_child import python_command, python_environment
from reference_server.engine.media import Media
from reference_server.media.limits import MediaError, MediaLimits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_server.engine.media import MediaKind, MediaNeeds

PROCESSES: Final = 2
MOST_FRAMES: Final = 20_000
LIBRARIES: Final = ("PIL", "av")


def can_decode() -> bool:
    """Return whether the libraries that decode media are installed."""
    return all(importlib.util.find_spec(name) is not None for name in LIBRARIES)


class MediaDecoder:
    """A few processes that decode media; each is started when it is first needed, and again after it failed.

    needs: what the model takes.
    """

    def __init__(self, needs: MediaNeeds, limits: MediaLimits) -> None:
        self._needs = needs
        self._limits = limits
        self._free: SimpleQueue[_DecoderProcess] = SimpleQueue()
        for _ in range(PROCESSES):
            self._free.put(_DecoderProcess(limits))

    def decode(self, kind: MediaKind, data: bytes, formats: Sequence[str]) -> Media:
        """Return a decoded medium; raise MediaError. Threads may call it; it waits for a free process."""
        job = {
            "kind": kind,
            "formats": list(formats),
            "side": self._needs.side,
            "frames": self._needs.frames,
            "rate_hz": self._needs.rate_hz,
            "most_frames": MOST_FRAMES,
            "longest_side": self._limits.side,
            "most_pixels": self._limits.pixels,
            "duration_s": self._limits.duration_s,
            "memory_bytes": self._limits.memory_bytes,
            "cpu_s": self._limits.cpu_s,
            "size": len(data),
        }
        process = self._free.get()
        try:
            described, result = process.run(job, data)
        finally:
            self._free.put(process)
        if "refused" in described:
            raise MediaError(described["refused"])
        digest = hashlib.sha256(kind.encode() + b"\0")
        digest.update(data)
        frames = np.empty((0, 0, 0, 3), np.uint8)
        samples = np.empty(0, np.float32)
        if kind == "audio":
            samples = np.frombuffer(result, np.float32).copy()
        else:
            frames = np.frombuffer(result, np.uint8).reshape(described["shape"]).copy()
        return Media(
            kind, frames, samples, described.get("rate_hz", 0), digest.digest(), described.get("frames_per_s", 1.0)
        )

    def close(self) -> None:
        """End the processes."""
        for _ in range(PROCESSES):
            process = self._free.get()
            process.end()
            self._free.put(process)


class _DecoderProcess:
    """One process that decodes; used by one thread at a time."""

    def __init__(self, limits: MediaLimits) -> None:
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, job: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Return the result of a job; raise MediaError if the process does not survive it."""
        process = self._start()
        watch = Timer(self._limits.decode_s, process.kill)
        watch.daemon = True
        watch.start()
        try:
            assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - pipes, for mypy
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.write(data)
            process.stdin.flush()
            line = process.stdout.readline()
            described: dict[str, Any] = json.loads(line)
            result = process.stdout.read(described["size"])
            if len(result) != described["size"]:
                raise ValueError
            return described, result
        except (OSError, ValueError):
            self.end()
            reason = f"decoding takes more than {self._limits.cpu_s} s or {self._limits.memory_bytes} bytes of memory"
            raise MediaError(f"{reason}, or the file is broken") from None
        finally:
            watch.cancel()

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            command = [*python_command("reference_server.media.decoder"), str(self._limits.memory_bytes)]
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=python_environment(os.environ),
                start_new_session=True,  # Ctrl-C ends the server, which ends this process
            )
            weakref.finalize(self, _end, self._process)
        return self._process

    def end(self) -> None:
        """End the process, if it runs."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process; repeated calls have no effect."""
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.wait()
