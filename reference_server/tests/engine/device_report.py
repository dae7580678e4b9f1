"""Runs the engine on an accelerator, simulated or real, and prints what it did as JSON.

    python -m reference_server.tests.engine.device_report CHECKPOINT simulated|real

A process of its own, because the simulation changes a process permanently.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reference_server.engine import LocalEngine, SamplingParams
from reference_server.tests.engine import simulated_npu
from reference_server.tests.engine.loop.test_media import draw, encode
from reference_server.tiny.vision import VISION_CHECKPOINT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence as Seq

KINDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "greedy": {"temperature": 0},
    "temperature": {"temperature": 0.8},
    "top_p": {"top_p": 0.9},
    "top_k and logprobs": {"top_p": 0.9, "top_k": 20, "logprobs": 3, "logprob_token_ids": (5, 9)},
    "penalties": {"n": 2, "presence_penalty": 0.5, "frequency_penalty": 0.2, "repetition_penalty": 1.2},
    "biases": {"logit_bias": ((7, 3.0), (8, -100.0)), "min_tokens": 4, "min_p": 0.01},
    "grammar": {"grammar": "content: /[a-e]{30,60}/"},
    "ranked": {"n": 3, "best_of": 4},
    "beams": {"beam_search": True, "n": 3},
    "diverse beams": {
        "beam_search": True,
        "n": 2,
        "best_of": 4,
        "beam_groups": 2,
        "diversity_penalty": 0.5,
        "logprobs": 1,
    },
}
SLOTS: Final = 20
PREFIX: Final = list(range(40))


def create_params(kind: str, seed: int, tokens: int = 8) -> SamplingParams:
    """Return the parameters of a request."""
    return SamplingParams(max_tokens=tokens, seed=seed, ignore_eos=True, **KINDS[kind])


def create_requests() -> list[tuple[list[int], SamplingParams]]:
    """Return requests of all kinds; some prompts have a common prefix, and some take several chunks."""
    generator = random.Random(4)
    kinds = list(KINDS)
    return [
        (
            PREFIX * (at % 2) + [generator.randrange(200) for _ in range(generator.randrange(1, 300))],
            create_params(kinds[at % len(kinds)], at),
        )
        for at in range(3 * len(kinds))
    ]


def load(checkpoint: Path, device: str, **options: Any) -> LocalEngine:
    """Return an engine in float32."""
    return LocalEngine.load(checkpoint, device=device, dtype="float32", **{"slots": SLOTS, **options})


def answer(engine: LocalEngine, requests: Seq[tuple[list[int], SamplingParams]]) -> list[list[tuple[Any, ...]]]:
    """Return the answers to requests that run at the same time, as sorted (index, token, text, whether cached)."""

    async def one(prompt: list[int], params: SamplingParams) -> list[tuple[Any, ...]]:
        deltas = [delta async for delta in engine.submit(prompt, params)]
        return sorted((delta.index, delta.token_id, delta.text, bool(delta.cached_tokens)) for delta in deltas)

    async def all_answers() -> list[list[tuple[Any, ...]]]:
        return await asyncio.gather(*(one(*request) for request in requests))

    return asyncio.run(all_answers())


def record_shapes(engine: LocalEngine) -> set[tuple[int, ...]]:
    """Return the set to which the engine adds the shape of each mask: (rows, tokens, positions read)."""
    shapes: set[tuple[int, ...]] = set()
    runner: Any = engine._runner
    mask = runner._mask

    def recorded(positions: Any, read: int) -> Any:
        shapes.add((*positions.shape, read))
        return mask(positions, read)

    runner._mask = recorded
    return shapes


def count_steps(engine: LocalEngine, kind: str) -> dict[str, int]:
    """Return the most transfers and operators of a step of four requests of a kind, without prefills."""
    driver: Any = engine._driver
    step = driver._step
    most: Counter[str] = Counter()

    def counted(batch: Any) -> None:
        before = simulated_npu.transfers + simulated_npu.operators
        step(batch)
        if not batch.prefill:
            after = simulated_npu.transfers + simulated_npu.operators
            for name in {*after, *before}:
                most[name] = max(most[name], after[name] - before[name])

    driver._step = counted
    answer(engine, [([at + 1, 2, 3], create_params(kind, at, 12)) for at in range(4)])
    driver._step = step
    return dict(most)


def compare(checkpoint: Path, device: str) -> dict[str, Any]:
    """Return a report about an accelerator and the CPU."""
    requests = create_requests()
    on_cpu = load(checkpoint, "cpu", prefill_tokens=256)
    cpu_shapes = record_shapes(on_cpu)
    expected = answer(on_cpu, requests)
    on_cpu.close()
    engine = load(checkpoint, device, prefill_tokens=256, warm_up_s=0)
    shapes = record_shapes(engine)
    actual = answer(engine, requests)
    runner: Any = engine._runner
    report = {
        "different": [at for at, pair in enumerate(zip(expected, actual, strict=True)) if pair[0] != pair[1]],
        "device": str(engine._checkpoint.model.device),
        "reused": sum(item[-1] for answered in actual for item in answered),
        "shapes": sorted(shapes),
        "shapes on the CPU": len(cpu_shapes),
        "samples": runner.samples,
        "graphs": runner.captured,
    }
    engine.close()
    return report


def warm_up(checkpoint: Path, device: str) -> dict[str, Any]:
    """Return a report about an engine with a warm-up: the shapes that requests still add, and counts of steps."""
    engine = load(checkpoint, device, slots=4, max_model_len=128)
    runner: Any = engine._runner
    before = set(runner._passes.seen)
    answer(engine, [([at + 1] * 30, create_params("greedy", at, 40)) for at in range(4)])
    report = {
        "graphs": runner.captured,
        "later": sorted(set(runner._passes.seen) - before),
        "preparation_s": runner.preparation.seconds,
        "steps": {kind: count_steps(engine, kind) for kind in KINDS},
    }
    engine.close()
    return report


def read_images(device: str) -> list[list[int]]:
    """Return the answers of the embedded model to one and two pictures, as tokens."""
    engine = LocalEngine.load(VISION_CHECKPOINT, device=device, slots=4, max_model_len=256, warm_up_s=0)
    prompts = [encode(engine, *pixels) for pixels in (draw(3, 1), draw(4, 1), draw(5, 2))]
    greedy = SamplingParams(temperature=0, max_tokens=8, ignore_eos=True)
    answers = answer(engine, [(prompt, greedy) for prompt in prompts])
    engine.close()
    return [[token for _, token, *_ in items] for items in answers]


def main(checkpoint: str, kind: str) -> None:
    """Print the report."""
    registrations = simulated_npu.install() if kind == "simulated" else []
    report = compare(Path(checkpoint), "auto") | {"warm": warm_up(Path(checkpoint), "auto")}
    report["images"] = {"cpu": read_images("cpu"), "device": read_images("auto")}
    sys.stdout.write(json.dumps(report))
    del registrations


if __name__ == "__main__":
    main(*sys.argv[1:])
