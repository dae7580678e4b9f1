"""What `benchmarks.engine_steps` asks of the passes of an engine: their shapes, the time of a graph, and bytes."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from reference_server.engine.device import torch
from reference_server.engine.model.accelerator.device_runner import DeviceRunner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.engine import LocalEngine

REPLAYS: Final = 20
EXPERTS: Final = ".experts."
"""In the names of weights of which a token uses some."""


def has_graphs(engine: LocalEngine) -> bool:
    """Return whether an engine runs some of its passes as graphs."""
    runner: Any = engine._runner
    return isinstance(runner, DeviceRunner) and runner.captured > 0


def describe_shapes(engine: LocalEngine) -> list[str]:
    """Return lines with the number of shapes of each kind, and each shape without a graph."""
    runner: Any = engine._runner
    if not isinstance(runner, DeviceRunner):
        return [f"passes of {type(runner).__name__}, without graphs"]
    shapes: Any = runner._passes.seen
    graphed = {shape for shape in shapes if runner._passes.has_graph(shape)}
    counts, counts_graphed = Counter(kind for kind, *_ in shapes), Counter(kind for kind, *_ in graphed)
    lines = [f"{kind}: {count} shapes, {counts_graphed[kind]} of them run as graphs" for kind, count in counts.items()]
    return [*lines, *(f"without a graph: {' '.join(map(str, shape))}" for shape in sorted(shapes - graphed))]


def time_graph(engine: LocalEngine, streams: int, position: int) -> float | None:
    """Return the seconds of the graph of a step of an idle engine, whose tokens are all at one position.

    None: the step has no graph.
    """
    runner: Any = engine._runner
    if not has_graphs(engine):
        return None
    with torch.inference_mode():
        runner.bind_thread()
        runner.decode([0] * streams, [position] * streams, range(streams))
        shape = runner._choose_shape(runner._round_up(streams, 1, runner.rows), [position] * streams)
        if not runner._passes.has_graph(shape):
            return None
        synchronize(runner.device)
        began_s = time.perf_counter()
        for _ in range(REPLAYS):
            runner._passes.replay(shape)
        synchronize(runner.device)
        return (time.perf_counter() - began_s) / REPLAYS


def synchronize(device: torch.device) -> None:
    """Wait for a device, if its backend can."""
    getattr(torch.get_device_module(device), "synchronize", lambda: None)()


@contextmanager
def running_operators(engine: LocalEngine) -> Iterator[None]:
    """Let the passes of an engine run their operators one by one."""
    runner: Any = engine._runner
    runner._passes.enabled = False
    try:
        yield
    finally:
        runner._passes.enabled = True


def count_step_bytes(engine: LocalEngine) -> int:
    """Return the bytes of the weights that a step of one stream reads: of a mixture, those of the experts it uses."""
    model = engine._checkpoint.model
    config = model.config.get_text_config()
    share = getattr(config, "num_experts_per_tok", 1) / getattr(config, "num_experts", 1)
    embedding, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    total = 0.0
    for name, weight in model.named_parameters():  # those that are used twice come once
        if weight is not embedding or embedding is head:
            total += weight.nbytes * (share if EXPERTS in name else 1)
    return round(total)
