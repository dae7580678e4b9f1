"""Measures the engine on a device without HTTP, next to transformers' own ways to generate in the same process.

    python -m benchmarks.engine_steps CHECKPOINT --device cuda --bandwidth 3.35

CHECKPOINT is a folder such as `benchmarks.random_checkpoint` writes. All answers are greedy or sampled as named, of the
same length, and all prompts are random. The same greedy requests then run with graphs and with operators one by one.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import logging
import random
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from benchmarks.step_graphs import count_step_bytes, describe_shapes, has_graphs, running_operators, time_graph
from benchmarks.streams import quantile
from reference_server.engine import CheckpointError, LocalEngine, SamplingParams
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
OPERATOR_TOKENS: Final = 32
"""Most tokens of answers without graphs, which take ten times as long."""
CACHE_PERCENT: Final = 0.2
"""Share of the memory for the cache of continuous batching."""
RESULT_TIMEOUT_S: Final = 60.0
ENGINE: Final = "engine"
OPERATORS: Final = "engine, operators one by one"


class Row(NamedTuple):
    """The figures of a run: streams with prompts of a number of tokens; None: not measured.

    note: what went wrong, or how many answers are equal to those with graphs.
    """

    contender: str
    streams: int = 0
    prompt: int = 0
    sampling: str = "greedy"
    tokens_per_s: float | None = None
    first_ms: float | None = None
    gap_ms: float | None = None
    gap_p99_ms: float | None = None
    note: str = ""

    def cells(self) -> list[str]:
        """Return the row of a table."""
        figures = ("" if figure is None else f"{figure:,.2f}" for figure in self[4:8])
        return [self.contender, str(self.streams), str(self.prompt), self.sampling, *figures, self.note]


class Figures(NamedTuple):
    """Tokens per second, the median time to the first token, and the median and p99 gap."""

    tokens_per_s: float
    first_ms: float
    gap_ms: float
    gap_p99_ms: float


def _create_prompts(vocabulary: int, streams: int, tokens: int) -> list[list[int]]:
    generator = random.Random(tokens)
    return [[generator.randrange(vocabulary) for _ in range(tokens)] for _ in range(streams)]


def _run_engine(
    engine: LocalEngine, prompts: Sequence[list[int]], tokens: int, options: Mapping[str, Any]
) -> tuple[Figures, list[list[int]]]:
    """Return the figures of requests that run at the same time, and the tokens of their answers."""

    async def one(seed: int, prompt: list[int]) -> list[tuple[float, int]]:
        params = SamplingParams(max_tokens=tokens, ignore_eos=True, seed=seed, **options)
        return [(time.perf_counter(), delta.token_id) async for delta in engine.submit(prompt, params)]

    async def all_streams() -> list[list[tuple[float, int]]]:
        return await asyncio.gather(*(one(seed, prompt) for seed, prompt in enumerate(prompts)))

    began_s = time.perf_counter()
    answers = asyncio.run(all_streams())
    wall_s = time.perf_counter() - began_s
    gaps_s = [after[0] - before[0] for answer in answers for before, after in itertools.pairwise(answer)]
    first_s = median(answer[0][0] - began_s for answer in answers)
    gap_ms, gap_p99_ms = median(gaps_s) * 1e3, quantile(gaps_s, 0.99) * 1e3
    figures = Figures(len(prompts) * tokens / wall_s, first_s * 1e3, gap_ms, gap_p99_ms)
    return figures, [[token for _, token in answer] for answer in answers]


def _fits(engine: LocalEngine, streams: int, length: int, tokens: int) -> bool:
    return length + tokens <= engine.max_model_len and streams <= engine.slots


def _measure_engine(engine: LocalEngine, tokens: int) -> Iterator[Row]:
    """Yield the rows of the engine."""
    runs = [(streams, PROMPTS[0], "greedy") for streams in STREAMS]
    runs += [(streams, length, "greedy") for length in PROMPTS[1:] for streams in STREAMS[:2]]
    runs += [(streams, PROMPTS[0], name) for streams in STREAMS for name in SAMPLING if name != "greedy"]
    for streams, length, name in runs:
        if _fits(engine, streams, length, tokens + 1):
            for new_tokens in (WARM_UP_TOKENS, tokens):  # the first time, some kernels are loaded
                prompts = _create_prompts(engine.vocabulary_size, streams, length + (new_tokens != tokens))
                figures, _ = _run_engine(engine, prompts, new_tokens, SAMPLING[name])
            yield Row(ENGINE, streams, length, name, **figures._asdict())


def _measure_operators(engine: LocalEngine, tokens: int) -> Iterator[Row]:
    """Yield the rows of the engine with operators one by one, with the number of answers that graphs also give.

    Several streams may be grouped into other batches the second time, and then be rounded otherwise.
    """
    for streams, length in [(1, length) for length in PROMPTS] + [(streams, PROMPTS[0]) for streams in STREAMS[1:]]:
        if has_graphs(engine) and _fits(engine, streams, length, tokens):
            prompts = _create_prompts(engine.vocabulary_size, streams, length)
            _, expected = _run_engine(engine, prompts, tokens, SAMPLING["greedy"])
            with running_operators(engine):
                figures, actual = _run_engine(engine, prompts, tokens, SAMPLING["greedy"])
            equal = sum(one == other for one, other in zip(expected, actual, strict=True))
            note = f"{equal} of {streams} as graphs"
            yield Row(OPERATORS, streams, length, "greedy", **figures._asdict(), note=note)


def _measure_transformers(checkpoint: Path, device: str, tokens: int) -> Iterator[Row]:
    """Yield the rows of `generate` and continuous batching, both greedy; a row with the error for one that fails."""
    from transformers import AutoModelForCausalLM

    model: Any = AutoModelForCausalLM.from_pretrained(checkpoint, dtype="auto", local_files_only=True).eval().to(device)
    for name, measure in (("generate", _generate), ("continuous batching", _batch_continuously)):
        try:
            for streams, wall_s in measure(model, device, tokens):
                yield Row(f"transformers, {name}", streams, PROMPTS[0], "greedy", streams * tokens / wall_s)
        except Exception as error:  # a contender that does not support the model
            yield Row(f"transformers, {name}", note=(str(error).strip() or type(error).__name__).splitlines()[0][:200])


def _generate(model: Any, device: str, tokens: int) -> Iterator[tuple[int, float]]:
    for streams in STREAMS:
        ids = torch.tensor(_create_prompts(model.get_output_embeddings().weight.shape[0], streams, PROMPTS[0]))
        ids = ids.to(device)
        for new_tokens in (WARM_UP_TOKENS, tokens):
            began_s = time.perf_counter()
            model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=new_tokens, **_greedy()).tolist()
            wall_s = time.perf_counter() - began_s
        yield streams, wall_s


def _batch_continuously(model: Any, _device: str, tokens: int) -> Iterator[tuple[int, float]]:
    from transformers import ContinuousBatchingConfig, GenerationConfig

    vocabulary = model.get_output_embeddings().weight.shape[0]
    manager = model.init_continuous_batching(
        generation_config=GenerationConfig(max_new_tokens=tokens, **_greedy()),
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
                        raise click.ClickException("it gave no result")
                wall_s = time.perf_counter() - began_s
            yield streams, wall_s
    finally:
        manager.stop(block=True)


def _greedy() -> dict[str, Any]:
    return {"do_sample": False, "eos_token_id": None, "pad_token_id": 0}


def _describe_steps(engine: LocalEngine, tokens: int, bandwidth: float | None) -> list[str]:
    """Return lines about the shapes with a graph, the time of graphs of steps, and the least time of a step."""
    lines = describe_shapes(engine)
    for streams in STREAMS:
        graph_s = time_graph(engine, streams, PROMPTS[0] + tokens // 2) if streams <= engine.slots else None
        if graph_s is not None:
            lines.append(f"graph of a step of {streams} at position {PROMPTS[0] + tokens // 2}: {graph_s * 1e3:.3f} ms")
    size = count_step_bytes(engine)
    least = "" if bandwidth is None else f": at least {size / bandwidth / 1e9:.3f} ms at {bandwidth} TB/s"
    return [*lines, f"a step of one stream reads {size / 1e9:.2f} GB of weights{least}"]


@click.command()
@click.argument("checkpoint", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--device", default="auto", show_default=True, help="Device: auto, cpu, cuda, npu, ...")
@click.option("--tokens", default=64, show_default=True, type=click.IntRange(2), help="Tokens of each answer.")
@click.option("--slots", default=max(STREAMS), show_default=True, type=click.IntRange(1), help="Slots of the engine.")
@click.option("--max-model-len", type=click.IntRange(2), help="Positions of a sequence (default: the engine's).")
@click.option("--bandwidth", type=float, metavar="TB/S", help="Of the device's memory, for the least time of a step.")
@click.option("--json", "target", type=click.Path(dir_okay=False, path_type=Path), help="Write all figures to a file.")
def main(
    checkpoint: Path,
    device: str,
    tokens: int,
    slots: int,
    max_model_len: int | None,
    bandwidth: float | None,
    target: Path | None,
) -> None:
    """Measure the engine with CHECKPOINT, and print each figure as it comes and then a table."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("reference_server").setLevel(logging.INFO)  # which shapes have no graph, and why
    place = str(select_device(device))
    rows: list[Row] = []
    lines: list[str] = []

    def note(line: str) -> None:
        lines.append(line)
        click.echo(line)

    def add(measured: Iterator[Row]) -> None:
        for row in measured:
            rows.append(row)
            click.echo(" | ".join(row.cells()))
            if target is not None:
                target.write_text(json.dumps({"lines": lines, "rows": [row._asdict() for row in rows]}, indent=1))

    began_s = time.perf_counter()
    try:
        engine = LocalEngine.load(
            checkpoint, device=place, slots=slots, max_model_len=max_model_len, prefix_reuse=False
        )
    except (CheckpointError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    note(f"{place}, started in {time.perf_counter() - began_s:.1f} s: {engine.describe()}")
    try:
        add(_measure_engine(engine, tokens))
        for line in _describe_steps(engine, tokens, bandwidth):
            note(line)
        add(_measure_operators(engine, min(tokens, OPERATOR_TOKENS)))
    finally:
        engine.close()
    del engine
    gc.collect()  # its cache, and the memory of its graphs
    getattr(torch.get_device_module(place), "empty_cache", lambda: None)()
    add(_measure_transformers(checkpoint, place, tokens))
    columns = ("contender", "streams", "prompt", "sampling", "tokens/s", "TTFT p50 ms", "gap p50 ms", "p99", "note")
    table = Table(*columns)
    for row in rows:
        table.add_row(*row.cells())
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
