"""Measures the engine on a device without HTTP, next to transformers' own ways to generate in the same process.

    python -m benchmarks.engine_steps CHECKPOINT --device cuda

CHECKPOINT is a folder such as `benchmarks.random_checkpoint` writes. All answers are greedy or sampled as named, of the
same length, and all prompts are random.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console
from rich.table import Table

from benchmarks.streams import quantile
from reference_server.engine import LocalEngine, SamplingParams
from reference_server.engine.device import select_device, torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

STREAMS: Final = (1, 8, 64)
PROMPTS: Final = (32, 512, 2048)
SAMPLING: Final[Mapping[str, Mapping[str, Any]]] = {
    "greedy": {"temperature": 0},
    "temperature": {"temperature": 0.8},
    "top_k, top_p": {"temperature": 0.8, "top_k": 50, "top_p": 0.9},
    "logprobs": {"temperature": 0.8, "logprobs": 5},
    "penalties": {"temperature": 0.8, "presence_penalty": 0.5, "repetition_penalty": 1.1},
}
WARM_UP_TOKENS: Final = 4
CACHE_PERCENT: Final = 0.2
"""Share of the memory for the cache of continuous batching."""
RESULT_TIMEOUT_S: Final = 60.0


def _create_prompts(vocabulary: int, streams: int, tokens: int) -> list[list[int]]:
    generator = random.Random(tokens)
    return [[generator.randrange(vocabulary) for _ in range(tokens)] for _ in range(streams)]


def _run_engine(
    engine: LocalEngine, prompts: Sequence[list[int]], tokens: int, options: Mapping[str, Any]
) -> list[str]:
    """Return tokens per second, the median time to the first token, and the median and p99 gap."""

    async def one(seed: int, prompt: list[int]) -> list[float]:
        params = SamplingParams(max_tokens=tokens, ignore_eos=True, seed=seed, **options)
        return [time.perf_counter() async for _ in engine.submit(prompt, params)]

    async def all_streams() -> list[list[float]]:
        return await asyncio.gather(*(one(seed, prompt) for seed, prompt in enumerate(prompts)))

    began_s = time.perf_counter()
    arrivals_s = asyncio.run(all_streams())
    wall_s = time.perf_counter() - began_s
    gaps_s = [later - earlier for stream in arrivals_s for earlier, later in itertools.pairwise(stream)]
    first_s = median(stream[0] - began_s for stream in arrivals_s)
    figures_ms = (number * 1e3 for number in (first_s, median(gaps_s), quantile(gaps_s, 0.99)))
    return [f"{len(prompts) * tokens / wall_s:,.1f}", *(f"{number:.2f}" for number in figures_ms)]


def _measure_engine(engine: LocalEngine, tokens: int) -> Iterator[list[str]]:
    """Yield the rows of the table for the engine."""
    runs = [(streams, PROMPTS[0], name) for streams in STREAMS for name in SAMPLING]
    runs += [(streams, length, "greedy") for length in PROMPTS[1:] for streams in STREAMS[:2]]
    for streams, length, name in runs:
        if length + tokens <= engine.max_model_len and streams <= engine.slots:
            for new_tokens in (WARM_UP_TOKENS, tokens):  # the first time, some kernels are loaded
                prompts = _create_prompts(engine.vocabulary_size, streams, length + (new_tokens != tokens))
                figures = _run_engine(engine, prompts, new_tokens, SAMPLING[name])
            yield ["engine", str(streams), str(length), name, *figures]


def _measure_transformers(checkpoint: Path, device: str, tokens: int) -> Iterator[list[str]]:
    """Yield the rows of the table for `generate` and continuous batching, both greedy."""
    from transformers import AutoModelForCausalLM, ContinuousBatchingConfig, GenerationConfig

    model: Any = AutoModelForCausalLM.from_pretrained(checkpoint, dtype="auto", local_files_only=True).eval().to(device)
    vocabulary = model.get_output_embeddings().weight.shape[0]
    settings = {"do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    for streams in STREAMS:
        ids = torch.tensor(_create_prompts(vocabulary, streams, PROMPTS[0]), device=device)
        for new_tokens in (WARM_UP_TOKENS, tokens):
            began_s = time.perf_counter()
            model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=new_tokens, **settings).tolist()
            wall_s = time.perf_counter() - began_s
        yield ["transformers, generate", str(streams), str(PROMPTS[0]), "greedy", f"{streams * tokens / wall_s:,.1f}"]
    manager = model.init_continuous_batching(
        generation_config=GenerationConfig(max_new_tokens=tokens, **settings),
        continuous_batching_config=ContinuousBatchingConfig(max_memory_percent=CACHE_PERCENT),
    )
    manager.start()
    try:
        for streams in STREAMS:
            for _ in range(2):
                began_s = time.perf_counter()
                for prompt in _create_prompts(vocabulary, streams, PROMPTS[0]):
                    manager.add_request(prompt, max_new_tokens=tokens)
                for _ in range(streams):
                    if manager.get_result(timeout=RESULT_TIMEOUT_S) is None:
                        raise click.ClickException("continuous batching gave no result")
                wall_s = time.perf_counter() - began_s
            rate = f"{streams * tokens / wall_s:,.1f}"
            yield ["transformers, continuous batching", str(streams), str(PROMPTS[0]), "greedy", rate]
    finally:
        manager.stop(block=True)


@click.command()
@click.argument("checkpoint", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--device", default="auto", show_default=True, help="Device: auto, cpu, cuda, npu, ...")
@click.option("--tokens", default=64, show_default=True, type=click.IntRange(2), help="Tokens of each answer.")
@click.option("--slots", default=max(STREAMS), show_default=True, type=click.IntRange(1), help="Slots of the engine.")
def main(checkpoint: Path, device: str, tokens: int, slots: int) -> None:
    """Measure the engine with CHECKPOINT and print a table."""
    table = Table("contender", "streams", "prompt", "sampling", "tokens/s", "TTFT p50 ms", "gap p50 ms", "p99")
    began_s = time.perf_counter()
    place = str(select_device(device))
    engine = LocalEngine.load(checkpoint, device=place, slots=slots, prefix_reuse=False)
    click.echo(f"{place}, started in {time.perf_counter() - began_s:.1f} s: {engine.describe()}")
    for row in _measure_engine(engine, tokens):
        table.add_row(*row)
    engine.close()
    for row in _measure_transformers(checkpoint, place, tokens):
        table.add_row(*row)
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
