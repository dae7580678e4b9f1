"""Compares the speed of the reference server with `transformers serve` and a bare loop over the same model.

    python -m benchmarks.serving [--rounds 4] [--json FILE]
    python -m benchmarks.serving --shape qwen3-0.6b [--device cuda] [--transformers PROGRAM] [--llama-python PYTHON]

The contenders take turns in a random order each round while the others are suspended, so that other load on the machine
affects all of them alike. A ratio is the median of the ratios within each round.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import random
import socket
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console
from rich.table import Table

from benchmarks import large_model
from benchmarks.contenders import Loop, alone, chatproof, transformers, without_end_token
from benchmarks.large_peers import PeerPrograms
from benchmarks.random_checkpoint import SHAPES
from benchmarks.streams import WORDS, BenchmarkTarget, load, worst_gap_s
from reference_server.tiny import CHECKPOINT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SLOTS: Final = 32
STREAMS: Final = {1: 8, 8: 6, 32: 5}
"""Number of concurrent clients -> requests per client, one after another; for all contenders except one."""
FEWER: Final = {1: 4, 8: 1, 32: 1}
"""The same for the server that answers one request at a time and takes ten times as long."""
PLAIN: Final = {"temperature": 0.8}
FEATURES: Final = {
    "presence_penalty": 0.5,
    "frequency_penalty": 0.3,
    "repetition_penalty": 1.1,
    "top_k": 50,
    "top_p": 0.9,
    "logprobs": True,
    "top_logprobs": 5,
}
REQUIRED_CALL: Final = {
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "note",
                "description": "Notes words.",
                "parameters": {
                    "type": "object",
                    "properties": {"words": {"type": "array", "items": {"type": "string"}, "minItems": 90}},
                    "required": ["words"],
                },
            },
        }
    ],
    "tool_choice": "required",
}
"""A tool call constrained to its schema by a grammar, and too long to end within an answer."""
LONG_PROMPT: Final = {"before": [{"role": "system", "content": " ".join(WORDS[at % len(WORDS)] for at in range(54))}]}
"""A shared system message with as many tokens as the tool above, but without a tool or a grammar."""
OURS: Final = "chatproof"
OURS_FULL: Final = "chatproof, all sampling features"
OURS_LONGER: Final = "chatproof, prompts as long as with a tool"
OURS_GRAMMAR: Final = "chatproof, a grammar for each"
SEQUENTIAL: Final = "transformers serve"
BATCHING: Final = "transformers serve, continuous batching"
LOOP: Final = "DynamicCache loop, in process"
THEIRS: Final[Mapping[str, Sequence[str]]] = {
    SEQUENTIAL: (),
    BATCHING: (
        "--continuous-batching",
        "--cb-max-memory-percent",
        "0.1",
    ),  # the default is more than half of the memory
}
RATIOS: Final[tuple[tuple[str, str, Mapping[int, float]], ...]] = (
    (OURS, BATCHING, {1: 1.4, 8: 1.8, 32: 2.4}),
    (OURS, SEQUENTIAL, {}),
    (OURS, LOOP, {32: 0.8}),
    (OURS_FULL, OURS, {32: 0.8}),
    (OURS_GRAMMAR, OURS_LONGER, {32: 0.8}),
)
"""(contender, baseline, number of streams -> target ratio of tokens per second)."""
COLUMNS: Final = {
    "tokens_per_s": "tokens/s",
    "ttft_p50_ms": "TTFT p50 ms",
    "ttft_p99_ms": "p99",
    "itl_p50_ms": "ITL p50 ms",
    "itl_p99_ms": "p99",
    "cpu_us_per_token": "CPU us/token",
    "rss_mib": "RSS MiB",
}

Figures = dict[tuple[str, int], list["Mapping[str, float]"]]


@click.command()
@click.option("--rounds", default=4, show_default=True, type=click.IntRange(1))
@click.option("--tokens", default=64, show_default=True, type=click.IntRange(2), help="Tokens per answer.")
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    default=CHECKPOINT,
    help="Checkpoint folder (default: the embedded one).",
)
@click.option("--only", multiple=True, metavar="NAME", help="Only contenders whose name begins with NAME; repeatable.")
@click.option("--json", "target", type=click.Path(path_type=Path), help="File for all figures.")
@click.option(
    "--shape", type=click.Choice(sorted(SHAPES)), help="Measure a random model of this shape in bfloat16 instead."
)
@click.option(
    "--transformers",
    "transformers_program",
    type=click.Path(path_type=Path),
    default=Path(sys.executable).with_name("transformers"),
    help="With --shape: the program `transformers` (default: that of this environment).",
)
@click.option("--device", default="cpu", show_default=True, help="With --shape: the device, such as cuda or npu.")
@click.option(
    "--llama-python",
    type=click.Path(path_type=Path),
    help="With --shape: a Python with xllamacpp and gguf (default: llama.cpp is left out).",
)
@click.option(
    "--vllm", "vllm_program", type=click.Path(path_type=Path), help="With --shape: the program `vllm` (left out)."
)
def main(
    rounds: int,
    tokens: int,
    checkpoint: Path,
    only: tuple[str, ...],
    target: Path | None,
    shape: str | None,
    transformers_program: Path,
    device: str,
    llama_python: Path | None,
    vllm_program: Path | None,
) -> None:
    """Run the benchmark and print the tables."""
    if shape is not None:
        programs = PeerPrograms(transformers_program, llama_python, vllm_program)
        figures_of_all = large_model.measure(shape, rounds, programs, only, device)
        large_model.write_figures(target, figures_of_all)
        return
    figures: Figures = {}
    gaps: dict[str, list[float]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        copy = without_end_token(checkpoint, folder / "without-end-token")
        ways: dict[str, tuple[BenchmarkTarget, Mapping[str, Any]]] = {}
        ours = stack.enter_context(chatproof(checkpoint, SLOTS))
        whole = stack.enter_context(chatproof(checkpoint, SLOTS, "--prefill-tokens", "4096"))
        for name, extra in (
            (OURS, {}),
            (OURS_FULL, FEATURES),
            (OURS_LONGER, LONG_PROMPT),
            (OURS_GRAMMAR, REQUIRED_CALL),
        ):
            ways[name] = ours, {**PLAIN, **extra}
        for name, flags in THEIRS.items():
            if not only or any(name.startswith(prefix) for prefix in only):
                ways[name] = stack.enter_context(transformers(copy, _free_port(), *flags)), PLAIN
        ways = {name: way for name, way in ways.items() if not only or any(name.startswith(prefix) for prefix in only)}
        others = [ours, whole, *(server for server, _ in ways.values())]
        loop = Loop(copy, "float32", 1)
        for name, (server, options) in ways.items():  # the first answers compile, allocate and import
            with alone(server, others):
                _run(server, min(8, SLOTS), 1, tokens, options, seed=-1)
                click.echo(f"{name} is warm", err=True)
        for number in range(rounds):
            order = random.Random(number).sample(sorted([*ways, LOOP]), len(ways) + 1)
            for streams in STREAMS:
                for name in order:
                    repeats = (FEWER if name == SEQUENTIAL else STREAMS)[streams]
                    if name == LOOP:
                        with alone(BenchmarkTarget("", 0, "", os.getpid(), {}), others):
                            measured = loop.figures(streams, 48, tokens, repeats)
                    else:
                        with alone(ways[name][0], others):
                            measured = _run(ways[name][0], streams, repeats, tokens, ways[name][1], seed=number)
                    figures.setdefault((name, streams), []).append(measured)
            for name, server, words in (
                ("no long prompt", ours, 0),
                ("in chunks of 256", ours, 1600),
                ("in one piece", whole, 1600),
            ):
                with alone(server, others):
                    gap = worst_gap_s(server, running=4, words=words, max_tokens=300, options=PLAIN, seed=1000 + number)
                    gaps.setdefault(name, []).append(asyncio.run(gap) * 1e3)
            click.echo(f"round {number + 1} of {rounds}, load average {os.getloadavg()[0]:.1f}", err=True)
    console = Console(width=150)
    console.print(f"{platform.machine()}, {os.cpu_count()} cores, CPU only, load average {os.getloadavg()[0]:.1f}")
    console.print(_table(figures))
    console.print(_ratios(figures))
    console.print(_gaps(gaps))
    if target is not None:
        rows = [{"name": name, "streams": streams, "rounds": rounds_} for (name, streams), rounds_ in figures.items()]
        target.write_text(json.dumps({"loads": rows, "worst_gap_ms": gaps}, indent=1))


def _run(
    target: BenchmarkTarget, streams: int, repeats: int, tokens: int, options: Mapping[str, Any], seed: int
) -> Mapping[str, float]:
    measured = load(target, streams=streams, repeats=repeats, max_tokens=tokens, options=options, seed=seed)
    return asyncio.run(measured).figures()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _table(figures: Figures) -> Table:
    table = Table("streams", "contender", title="median of all rounds")
    for title in COLUMNS.values():
        table.add_column(title, justify="right")
    for (name, streams), rounds in sorted(figures.items(), key=lambda item: (item[0][1], item[0][0])):
        cells = [f"{median(row[key] for row in rounds):,.1f}" if key in rounds[0] else "" for key in COLUMNS]
        table.add_row(str(streams), name, *cells)
    return table


def _ratios(figures: Figures) -> Table:
    table = Table("ratio", "of", *(f"{streams} streams" for streams in STREAMS), title="ratios, median of all rounds")
    for contender, baseline, target in RATIOS:
        cells = [_ratio(figures, contender, baseline, streams, target.get(streams)) for streams in STREAMS]
        table.add_row("tokens/s", f"{contender} / {baseline}", *cells)
    cells = [_ratio(figures, OURS, BATCHING, streams, None, "ttft_p50_ms") for streams in STREAMS]
    table.add_row("TTFT p50", f"{OURS} / {BATCHING}", *cells)
    for contender, baseline, _ in RATIOS:
        cells = [_ratio(figures, contender, baseline, streams, None, "cpu_us_per_token") for streams in STREAMS]
        table.add_row("CPU/token", f"{contender} / {baseline}", *cells)
    return table


def _ratio(
    figures: Figures, contender: str, baseline: str, streams: int, target: float | None, key: str = "tokens_per_s"
) -> str:
    rounds = list(zip(figures.get((contender, streams), []), figures.get((baseline, streams), []), strict=False))
    if not rounds:
        return ""
    ratios = [ours[key] / theirs[key] for ours, theirs in rounds]
    spread = f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    return spread if target is None else f"{spread}, target {target}"


def _gaps(gaps: Mapping[str, Sequence[float]]) -> Table:
    table = Table("a prompt of 2,000 tokens", "worst gap, ms", title="worst gap of 4 running streams")
    for name, gaps_ms in gaps.items():
        table.add_row(name, f"{median(gaps_ms):.0f} ({min(gaps_ms):.0f} to {max(gaps_ms):.0f})")
    return table


if __name__ == "__main__":
    main()
