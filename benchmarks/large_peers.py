"""The servers of the benchmark of large models, all in bfloat16."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx

from benchmarks.contenders import HOST, child_environment, end_processes
from benchmarks.streams import BenchmarkError, BenchmarkTarget

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SLOTS: Final = {"cpu": 16}
DEVICE_SLOTS: Final = 64
POSITIONS: Final = 3072
"""Of each sequence."""
CACHE_GIB: Final = 6
"""For all positions at the shape of Qwen3-0.6B; the system provides the memory of those that are used."""
START_TIMEOUT_S: Final = 600.0
USAGE: Final = {"stream_options": {"include_usage": True}}
OURS: Final = "chatproof"
SEQUENTIAL: Final = "transformers serve"
BATCHING: Final = "transformers serve, continuous batching"
LLAMA: Final = "llama.cpp"
VLLM: Final = "vLLM"


@dataclass(frozen=True, slots=True)
class Peer:
    """A server that can be started.

    command: its arguments; the port is free. fixed: fields of every request body. lacking: what has to be installed
    to start it; None if nothing. variables: of its environment.
    """

    name: str
    command: Sequence[str]
    port: int
    fixed: Mapping[str, Any]
    lacking: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StartedPeer:
    """A running server. start_s: seconds from the start of its process until it answered."""

    target: BenchmarkTarget
    start_s: float


@dataclass(frozen=True, slots=True)
class PeerPrograms:
    """Where the peers are installed.

    transformers: the program. llama_python: the Python of an environment with xllamacpp and gguf. vllm: the program.
    """

    transformers: Path
    llama_python: Path | None
    vllm: Path | None


def list_peers(checkpoint: Path, folder: Path, programs: PeerPrograms, device: str) -> list[Peer]:
    """Return all peers that run on a device; those whose software is missing say so.

    checkpoint: without an end token, for servers that cannot ignore the token. folder: for the file of llama.cpp.
    """
    ports = [_free_port() for _ in range(5)]
    program = str(programs.transformers)
    serve = [program, "serve", str(checkpoint), "--host", HOST, "--device", device, "--dtype", "bfloat16"]
    missing = None if programs.transformers.is_file() else f"{program} does not exist: see --transformers"
    model = {"model": str(checkpoint)}
    slots = SLOTS.get(device, DEVICE_SLOTS)
    ours = [sys.executable, "-m", "reference_server", "--dialect", "mindie", "--device", device, "--slots", str(slots)]
    if device == "cpu":  # all peers are in memory at once, so half of what is free may be too little for the prompts
        ours += ["--max-model-len", str(POSITIONS), "--cache-memory", str(CACHE_GIB)]
    peers = [
        Peer(
            OURS,
            [*ours, "--checkpoint", str(checkpoint), "--port", str(ports[0])],
            ports[0],
            {"model": "mindie", "ignore_eos": True},
        ),
        Peer(SEQUENTIAL, [*serve, "--port", str(ports[1])], ports[1], model, missing),
        Peer(
            BATCHING,
            [*serve, "--port", str(ports[2]), "--continuous-batching", "--cb-max-memory-percent", "0.2"],
            ports[2],
            model,
            missing,
        ),
    ]
    if device != "cpu":
        return peers
    llama = _llama_peer(checkpoint, folder / "model.gguf", ports[3], programs.llama_python)
    return [*peers, llama, _vllm_peer(checkpoint, ports[4], programs.vllm)]


def _llama_peer(checkpoint: Path, file: Path, port: int, python: Path | None) -> Peer:
    fixed = {"ignore_eos": True, **USAGE}
    if python is None or not python.is_file():
        reason = "needs a Python with xllamacpp and gguf: see --llama-python"
        return Peer(LLAMA, (), port, fixed, reason)
    script = str(Path(__file__).with_name("llama_peer.py"))
    converted = subprocess.run(  # noqa: S603 - our own arguments
        [str(python), script, "convert", str(checkpoint), str(file)], capture_output=True, text=True, check=False
    )
    lacking = (converted.stderr.strip().splitlines() or ["no output"])[-1] if converted.returncode else None
    threads = os.environ.get("OMP_NUM_THREADS", str(os.cpu_count()))
    return Peer(
        LLAMA, [str(python), script, "serve", str(file), str(port), str(SLOTS["cpu"]), threads], port, fixed, lacking
    )


def _vllm_peer(checkpoint: Path, port: int, program: Path | None) -> Peer:
    missing = None if program is not None and program.is_file() else "needs the program vllm: see --vllm"
    command = [str(program), "serve", str(checkpoint), "--host", HOST, "--port", str(port), "--dtype", "bfloat16"]
    command += ["--max-num-seqs", str(SLOTS["cpu"]), "--max-model-len", str(POSITIONS)]
    variables = {"VLLM_CPU_KVCACHE_SPACE": "2", "VLLM_NO_USAGE_STATS": "1", "VLLM_TARGET_DEVICE": "cpu"}
    return Peer(VLLM, command, port, {"model": str(checkpoint), "ignore_eos": True, **USAGE}, missing, variables)


@contextmanager
def started(peer: Peer, bytecode: Path) -> Iterator[StartedPeer]:
    """Start a peer and wait until it answers.

    bytecode: folder for compiled modules, as installed packages have them.
    """
    environment = child_environment() | {"PYTHONPYCACHEPREFIX": str(bytecode), **peer.variables}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.monotonic()
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(  # noqa: S603 - our own arguments
            list(peer.command), env=environment, stdout=log, stderr=log, text=True, start_new_session=True
        ) as process,
    ):
        try:
            while not _answers(peer.port):
                if process.poll() is not None or time.monotonic() > began + START_TIMEOUT_S:
                    log.seek(0)
                    reason = (log.read().strip().splitlines() or ["no output"])[-1]
                    raise BenchmarkError(f"{peer.name} did not start: {reason[:300]}")
                time.sleep(0.05)
            target = BenchmarkTarget(HOST, peer.port, "/v1/chat/completions", process.pid, peer.fixed)
            yield StartedPeer(target, time.monotonic() - began)
        finally:
            end_processes(process)


def link_without_end_token(checkpoint: Path, target: Path) -> Path:
    """Create a checkpoint without an end token that shares the files of another one."""
    target.mkdir()
    for file in checkpoint.iterdir():
        if file.name in ("config.json", "generation_config.json"):
            settings = json.loads(file.read_text(encoding="utf-8"))
            (target / file.name).write_text(json.dumps({**settings, "eos_token_id": None}), encoding="utf-8")
        else:
            (target / file.name).symlink_to(file.resolve())
    return target


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://{HOST}:{port}/health", timeout=2).is_success
    except httpx.TransportError:
        return False


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])
