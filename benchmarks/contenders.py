"""The servers of the serving benchmark: chatproof, `transformers serve`, and a bare loop over the model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import httpx

from benchmarks.process_group import ProcessGroup
from benchmarks.streams import BenchmarkError, BenchmarkTarget

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT: Final = Path(__file__).resolve().parent.parent
HOST: Final = "127.0.0.1"
START_TIMEOUT_S: Final = 180.0
WITHOUT_REASONING: Final = {"chat_template_kwargs": {"enable_thinking": False}}


def without_end_token(checkpoint: Path, target: Path) -> Path:
    """Copy a checkpoint without its end token, for servers that cannot ignore the token."""
    shutil.copytree(checkpoint, target)
    for name in ("config.json", "generation_config.json"):
        settings = json.loads((target / name).read_text())
        (target / name).write_text(json.dumps({**settings, "eos_token_id": None}))
    return target


@contextmanager
def chatproof(checkpoint: Path, slots: int, *options: str) -> Iterator[BenchmarkTarget]:
    """Start chatproof's reference server."""
    command = [sys.executable, "-m", "reference_server", "--dialect", "mindie", "--port", "0"]
    command += ["--checkpoint", str(checkpoint), "--slots", str(slots), "--device", "cpu", *options]
    with _process(command) as process:
        line = process.stdout.readline() if process.stdout else ""
        if " at http" not in line:
            raise BenchmarkError(f"chatproof did not start: {line}")
        port = int(line.rpartition(":")[2])
        yield BenchmarkTarget(
            HOST,
            port,
            "/v1/chat/completions",
            process.pid,
            {"model": "mindie", "ignore_eos": True, **WITHOUT_REASONING},
        )


@contextmanager
def transformers(checkpoint: Path, port: int, *options: str) -> Iterator[BenchmarkTarget]:
    """Start `transformers serve`."""
    program = Path(sys.executable).with_name("transformers")
    command = [str(program), "serve", str(checkpoint), "--host", HOST, "--port", str(port)]
    command += ["--device", "cpu", "--dtype", "float32", *options]
    with tempfile.TemporaryFile("w+") as errors, _process(command, errors) as process:
        end = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                if httpx.get(f"http://{HOST}:{port}/health", timeout=5).is_success:
                    break
            except httpx.TransportError:
                pass
            if process.poll() is not None or time.monotonic() > end:
                errors.seek(0)  # its last line names the package that is missing
                reason = (errors.read().strip().splitlines() or ["no output"])[-1]
                raise BenchmarkError(f"`{' '.join(command)}` did not start: {reason[:300]}")
            time.sleep(0.2)
        yield BenchmarkTarget(
            HOST, port, "/v1/chat/completions", process.pid, {"model": str(checkpoint), **WITHOUT_REASONING}
        )


def child_environment() -> dict[str, str]:
    """Return the environment of a child that imports this tree first, and then what this process can import."""
    places = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(places), "HF_HUB_OFFLINE": "1"}


@contextmanager
def _process(command: Sequence[str], errors: IO[str] | None = None) -> Iterator[subprocess.Popen[str]]:
    environment = child_environment() | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(  # noqa: S603 - our own arguments
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=errors or subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            end_processes(process)


def end_processes(process: subprocess.Popen[str]) -> None:
    """End a server and the processes that it started."""
    processes = ProcessGroup(process.pid)
    processes.end()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        processes.kill()


@contextmanager
def alone(target: BenchmarkTarget, others: Sequence[BenchmarkTarget]) -> Iterator[BenchmarkTarget]:
    """Suspend all servers except one: some servers use the CPU even without requests."""
    for other in others:
        processes = ProcessGroup(other.pid)
        if other.pid == target.pid:
            processes.resume()
        else:
            processes.suspend()
    try:
        yield target
    finally:
        for other in others:
            ProcessGroup(other.pid).resume()


class Loop:
    """A loop over transformers' own model and DynamicCache: a batch of prompts of equal length, greedy."""

    def __init__(self, checkpoint: Path, dtype: str, threads: int, device: str = "cpu") -> None:
        from reference_server.engine.device import torch

        torch.set_num_threads(threads)
        from transformers import AutoModelForCausalLM

        self._torch = torch
        self._model: Any = AutoModelForCausalLM.from_pretrained(
            checkpoint, dtype=dtype, attn_implementation="sdpa", local_files_only=True
        ).eval()
        self._model.to(device)

    def figures(self, batch: int, prompt_tokens: int, new_tokens: int, repeats: int) -> Mapping[str, float]:
        """Return tokens per second and CPU time per token, over `repeats` batches one after another."""
        began, cpu = time.perf_counter(), time.process_time()
        for _ in range(repeats):
            self._generate(batch, prompt_tokens, new_tokens)
        count = batch * new_tokens * repeats
        wall, spent = time.perf_counter() - began, time.process_time() - cpu
        return {"tokens_per_s": count / wall, "cpu_us_per_token": spent / count * 1e6}

    def _generate(self, batch: int, prompt_tokens: int, new_tokens: int) -> None:
        torch = self._torch
        from transformers import DynamicCache

        with torch.inference_mode():
            cache = DynamicCache(config=self._model.config)
            tokens = torch.arange(batch * prompt_tokens, device=self._model.device).view(batch, prompt_tokens) % 4000
            for _ in range(new_tokens):
                logits = self._model(input_ids=tokens, cache=cache, use_cache=True, logits_to_keep=1).logits
                tokens = logits[:, -1:].argmax(-1)
                tokens.tolist()
