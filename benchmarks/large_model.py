"""Compares the speed, memory and start of servers with a model of realistic shape; see `benchmarks.serving --shape`."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import random
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console
from rich.table import Table

from benchmarks.contenders import Loop, alone
from benchmarks.large_peers import BATCHING, LLAMA, OURS, SEQUENTIAL, VLLM, link_without_end_token, list_peers, started
from benchmarks.process_group import ProcessGroup
from benchmarks.random_checkpoint import write_random_checkpoint
from benchmarks.streams import WORDS, BenchmarkError, BenchmarkTarget, ask, quantile
from reference_server.engine.device import torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.large_peers import Peer, PeerPrograms, StartedPeer

LOOP: Final = "loop over the model, in process"
LOADS: Final = ((1, 32, 24), (4, 32, 16), (8, 32, 16), (16, 32, 16), (1, 512, 8), (1, 2048, 8))
"""(streams, tokens of each prompt, new tokens of each)"""
DEVICE_LOADS: Final = (
    (1, 32, 128),
    (8, 32, 128),
    (32, 32, 128),
    (64, 32, 128),
    (1, 512, 32),
    (1, 2048, 32),
    (8, 2048, 32),
)
"""The same on an accelerator."""
SHORT_PROMPT: Final = 32
"""Tokens of prompts whose time does not matter, so that the loop and the ratios are comparable."""
OPTIONS: Final = {"temperature": 0.8}
TARGETS: Final[Mapping[str, Mapping[int, float]]] = {
    BATCHING: {1: 1.5, 8: 1.5},
    LLAMA: {1: 0.8, 8: 1.6},
    LOOP: {1: 0.85, 8: 0.85},
    SEQUENTIAL: {},
    VLLM: {},
}
"""Peer -> number of streams -> target of our tokens per second over theirs."""
RUNNING: Final = 4
RUNNING_TOKENS: Final = {"cpu": 40}
DEVICE_RUNNING_TOKENS: Final = 400
PAUSE_S: Final = {"cpu": 2.0}
DEVICE_PAUSE_S: Final = 0.5
"""Until the long prompt arrives, while the other streams run."""
LONG_PROMPT: Final = 2000

Figures = dict[tuple[str, int, int], list["Mapping[str, float]"]]


class _Prompts:
    """Random prompts with a number of tokens, as counted by a checkpoint's tokenizer."""

    def __init__(self, checkpoint: Path) -> None:
        import tokenizers

        self._tokenizer = tokenizers.Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
        self._checkpoint = checkpoint

    def count_added(self) -> int:
        """Return how many tokens the checkpoint's template adds to a question."""
        from transformers import AutoTokenizer

        template: Any = AutoTokenizer.from_pretrained(self._checkpoint, local_files_only=True)
        question = [{"role": "user", "content": WORDS[0]}]
        whole = template.apply_chat_template(question, tokenize=False, add_generation_prompt=True)
        return len(self._tokenizer.encode(whole).ids) - len(self._tokenizer.encode(WORDS[0]).ids)

    def create(self, generator: random.Random, tokens: int) -> str:
        words = [generator.choice(WORDS) for _ in range(tokens)]
        ids = self._tokenizer.encode(" ".join(words)).ids[:tokens]
        return str(self._tokenizer.decode(ids))


def measure(shape: str, rounds: int, programs: PeerPrograms, only: Sequence[str], device: str) -> dict[str, Any]:
    """Write a checkpoint, run all peers that are installed, print the tables and return all figures."""
    console = Console(width=150)
    loads = LOADS if device == "cpu" else DEVICE_LOADS
    device_mib: dict[str, float] = {}
    figures: Figures = {}
    gaps: dict[str, list[tuple[float, float]]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        original = folder / shape
        original.mkdir()
        console.print(f"{shape} with {write_random_checkpoint(shape, original)}")
        checkpoint = link_without_end_token(original, folder / "without-end-token")
        prompts = _Prompts(checkpoint)
        running: dict[str, StartedPeer] = {}
        for peer in list_peers(checkpoint, folder, programs, device):
            if only and not any(peer.name.startswith(prefix) for prefix in only):
                continue
            free = _free_mib(device)
            try:
                running[peer.name] = stack.enter_context(_warm(peer, folder / "bytecode", prompts, device, loads))
            except BenchmarkError as error:
                click.echo(str(error), err=True)
                continue
            device_mib[peer.name] = free - _free_mib(device)
            for other in running.values():
                ProcessGroup(other.target.pid).suspend()  # the next one starts undisturbed
        targets = [peer.target for peer in running.values()]
        loops = [LOOP] if not only or any(LOOP.startswith(prefix) for prefix in only) else []
        threads = int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1))
        loop = Loop(checkpoint, "bfloat16", threads, device) if loops else None
        added = prompts.count_added() if loops else 0
        loop_target = BenchmarkTarget("", 0, "", os.getpid(), {})
        for number in range(rounds):
            order = random.Random(number).sample([*running, *loops], len(running) + len(loops))
            for name in order:
                for load in loads:
                    with alone(running[name].target if name in running else loop_target, targets):
                        if name in running:
                            row = _run(running[name].target, prompts, random.Random(f"{number} {load}"), load)
                        elif loop is not None and load[1] == SHORT_PROMPT:
                            row = loop.figures(load[0], load[1] + added, load[2], 1)  # what the servers compute
                        else:
                            continue
                    figures.setdefault((name, load[0], load[1]), []).append(row)
                    click.echo(f"{name}, {load[0]} x {load[1]}: {row['tokens_per_s']:.1f} tokens/s", err=True)
            for name in order:
                if name in running:
                    with alone(running[name].target, targets):
                        gap = asyncio.run(_gaps_ms(running[name].target, prompts, random.Random(number), device))
                        gaps.setdefault(name, []).append(gap)
            click.echo(f"round {number + 1} of {rounds}, load average {os.getloadavg()[0]:.1f}", err=True)
        peaks = {name: ProcessGroup(peer.target.pid).peak_bytes / 2**20 for name, peer in running.items()}
        starts = {name: peer.start_s for name, peer in running.items()}
    place = "CPU only" if device == "cpu" else torch.get_device_module(device).get_device_name()
    console.print(f"{platform.machine()}, {os.cpu_count()} cores, {place}, load average {os.getloadavg()[0]:.1f}")
    console.print(_table(figures))
    console.print(_ratios(figures, [load for load in loads if load[1] == SHORT_PROMPT]))
    console.print(_servers(starts, peaks, device_mib, gaps))
    rows = [{"name": name, "streams": a, "prompt": b, "rounds": rows} for (name, a, b), rows in figures.items()]
    memory = {"peak_mib": peaks, "device_mib": device_mib}
    return {"shape": shape, "device": place, "loads": rows, "start_s": starts, **memory, "gaps_ms": gaps}


@contextmanager
def _warm(
    peer: Peer, bytecode: Path, prompts: _Prompts, device: str, loads: Sequence[tuple[int, int, int]]
) -> Iterator[StartedPeer]:
    """Start a peer and send its first requests, which allocate. Raises BenchmarkError if it cannot answer."""
    if peer.lacking is not None:
        raise BenchmarkError(f"{peer.name} is left out: {peer.lacking}")
    if device == "cpu":
        with started(peer, bytecode):
            pass  # compiles the modules
    with started(peer, bytecode) as running:
        for streams, prompt_tokens, _ in ((1, SHORT_PROMPT, 4),) if device == "cpu" else loads:
            _run(running.target, prompts, random.Random(peer.name), (streams, prompt_tokens, 4))
        yield running


def _run(
    target: BenchmarkTarget, prompts: _Prompts, generator: random.Random, load: tuple[int, int, int]
) -> Mapping[str, float]:
    streams, prompt_tokens, new_tokens = load

    async def run() -> Mapping[str, float]:
        questions = [prompts.create(generator, prompt_tokens) for _ in range(streams)]
        processes = ProcessGroup(target.pid)
        spent, began = processes.cpu_s, time.perf_counter()
        answers = await asyncio.gather(*(ask(target, question, new_tokens, OPTIONS) for question in questions))
        wall, spent = time.perf_counter() - began, processes.cpu_s - spent
        gaps = [gap for answer in answers for gap in answer.gaps_s] or [0.0]
        return {
            "tokens_per_s": streams * new_tokens / wall,
            "cpu_us_per_token": spent / (streams * new_tokens) * 1e6,
            "ttft_p50_ms": median(answer.arrivals_s[0] for answer in answers) * 1e3,
            "itl_p50_ms": median(gaps) * 1e3,
            "rss_mib": processes.rss_bytes / 2**20,
        }

    return asyncio.run(run())


async def _gaps_ms(
    target: BenchmarkTarget, prompts: _Prompts, generator: random.Random, device: str
) -> tuple[float, float]:
    """Return the p99 gap of running streams alone, and while a long prompt is processed."""
    new_tokens, pause_s = RUNNING_TOKENS.get(device, DEVICE_RUNNING_TOKENS), PAUSE_S.get(device, DEVICE_PAUSE_S)
    results = []
    for length in (0, LONG_PROMPT):
        questions = [prompts.create(generator, 32) for _ in range(RUNNING)]
        long_question = prompts.create(generator, length)  # now: it would delay the reading of the streams
        streams = [asyncio.create_task(ask(target, question, new_tokens, OPTIONS)) for question in questions]
        if length:
            await asyncio.sleep(pause_s)
            await ask(target, long_question, 1, OPTIONS)
        gaps = [gap for stream in await asyncio.gather(*streams) for gap in stream.gaps_s]
        results.append(quantile(gaps, 0.99) * 1e3)
    return results[0], results[1]


def _table(figures: Figures) -> Table:
    columns = {
        "tokens_per_s": "tokens/s",
        "cpu_us_per_token": "CPU us/token",
        "ttft_p50_ms": "TTFT p50 ms",
        "itl_p50_ms": "ITL p50 ms",
        "rss_mib": "RSS MiB",
    }
    table = Table("streams", "prompt tokens", "contender", *columns.values(), title="median of all rounds")
    for (name, streams, tokens), rows in sorted(figures.items(), key=lambda item: (item[0][1:], item[0][0])):
        cells = [f"{median(row[key] for row in rows):,.1f}" if key in rows[0] else "" for key in columns]
        table.add_row(str(streams), str(tokens), name, *cells)
    return table


def _ratios(figures: Figures, loads: Sequence[tuple[int, int, int]]) -> Table:
    heads = [f"{streams} streams" for streams, _, _ in loads]
    table = Table("chatproof /", "of", *heads, title="ratios, median (minimum to maximum) of all rounds")
    for name, targets in TARGETS.items():
        for key, title in (("tokens_per_s", "tokens/s"), ("cpu_us_per_token", "CPU/token")):
            cells = [_ratio(figures, name, key, *load[:2]) for load in loads]
            if key == "tokens_per_s":
                goals = (f", target {targets[load[0]]}" if load[0] in targets else "" for load in loads)
                cells = [cell + goal for cell, goal in zip(cells, goals, strict=True)]
            table.add_row(name, title, *cells)
    return table


def _ratio(figures: Figures, name: str, key: str, streams: int, tokens: int) -> str:
    ours, theirs = (figures.get((contender, streams, tokens), []) for contender in (OURS, name))
    pairs = [one[key] / other[key] for one, other in zip(ours, theirs, strict=False)]
    return f"{median(pairs):.2f} ({min(pairs):.2f} to {max(pairs):.2f})" if pairs else "not measured"


def _free_mib(device: str) -> float:
    """Return the free memory of an accelerator; 0 for a CPU, whose memory is measured by process."""
    return 0.0 if device == "cpu" else torch.accelerator.get_memory_info()[0] / 2**20


def _servers(
    starts: Mapping[str, float],
    peaks: Mapping[str, float],
    device_mib: Mapping[str, float],
    gaps: Mapping[str, Sequence[tuple[float, float]]],
) -> Table:
    table = Table(
        "server", "start s", "peak MiB", "device MiB", "p99 gap ms", f"with a prompt of {LONG_PROMPT:,} tokens", "ratio"
    )
    for name, start_s in starts.items():
        rows = gaps.get(name, [])
        cells = [f"{median(row[at] for row in rows):,.0f}" if rows else "" for at in (0, 1)]
        ratio = f"{median(late / normal for normal, late in rows):.2f}" if rows else ""
        table.add_row(name, f"{start_s:.1f}", f"{peaks[name]:,.0f}", f"{device_mib[name]:,.0f}", *cells, ratio)
    return table


def write_figures(target: Path | None, figures: Mapping[str, Any]) -> None:
    """Write all figures as JSON, if there is a file for them."""
    if target is not None:
        target.write_text(json.dumps(figures, indent=1))
