"""The engine on a simulated accelerator: selection, tensor placement, transfers and shapes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]

PROGRAM = """
import asyncio, collections, json, pathlib, random, sys
from reference_server.tests.engine import simulated_npu
registrations = simulated_npu.install()
from reference_server.engine import LocalEngine, SamplingParams

generator = random.Random(4)
KINDS = [
    {"temperature": 0},
    {"top_p": 0.9, "top_k": 20, "logprobs": 3},
    {"n": 2, "presence_penalty": 0.5, "frequency_penalty": 0.2, "repetition_penalty": 1.2},
    {"n": 3, "best_of": 4},
    {"beam_search": True, "n": 3},
    {"beam_search": True, "n": 2, "best_of": 4, "beam_groups": 2, "diversity_penalty": 0.5, "logprobs": 1},
]
PREFIX = list(range(40))
PROMPTS = [
    PREFIX * (at % 2) + [generator.randrange(200) for _ in range(generator.randrange(1, 300))] for at in range(24)
]

def generate(device):
    engine = LocalEngine.load(pathlib.Path(sys.argv[1]), device=device, dtype="float32", slots=20, prefill_tokens=256)
    shapes, steps = set(), collections.defaultdict(set)
    mask, passes = engine._runner._mask, {name: getattr(engine._runner, name) for name in ("prefill", "decode")}

    def recorded_mask(positions, read):
        shapes.add((*positions.shape, read))
        return mask(positions, read)

    def counted(name):
        def run(*arguments):
            before = dict(simulated_npu.transfers)
            logits = passes[name](*arguments)
            for way, count in simulated_npu.transfers.items():
                steps[name, way].add(count - before.get(way, 0))
            return logits
        return run

    engine._runner._mask = recorded_mask
    for name in passes:
        setattr(engine._runner, name, counted(name))

    async def one(at):
        params = SamplingParams(max_tokens=8, seed=at, ignore_eos=True, **KINDS[at % len(KINDS)])
        return [(d.index, d.token_id, d.text, d.cached_tokens > 0) async for d in engine.submit(PROMPTS[at], params)]

    async def all():
        return await asyncio.gather(*map(one, range(len(PROMPTS))))

    try:
        answers = [sorted(answer) for answer in asyncio.run(all())]
        transfers = {f"{name} {way}": max(counts) for (name, way), counts in steps.items() if way != "within it"}
        return answers, str(engine._checkpoint.model.device), transfers, sorted(shapes)
    finally:
        engine.close()

expected, _, _, on_cpu = generate("cpu")
answers, device, transfers, shapes = generate("auto")
reused = sum(item[-1] for answer in answers for item in answer)
print(json.dumps({"same": answers == expected, "device": device, "reused": reused, "transfers": transfers,
                  "shapes": shapes, "shapes on the CPU": len(on_cpu)}))
"""


@pytest.fixture(scope="module")
def report(random_checkpoint: Path) -> dict[str, Any]:
    """Return the report of a separate process, because the simulation changes a process permanently."""
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(random_checkpoint)],
        env=os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


def test_the_accelerator_is_selected_and_generates_the_tokens_of_the_cpu(report: dict[str, Any]) -> None:
    """Greedy, sampled, penalised, several, ranked and beam-search answers, with chunked prompts and reused prefixes."""
    assert (True, "npu:0") == (report["same"], report["device"])
    assert report["reused"] > 0


def test_a_step_transfers_one_tensor_to_the_device_and_the_logits_back(report: dict[str, Any]) -> None:
    expected = {f"{step} {way} the device": 1 for step in ("prefill", "decode") for way in ("to", "from")}
    assert expected == report["transfers"]


def test_the_model_sees_few_shapes(report: dict[str, Any]) -> None:
    """Each shape is compiled once: rows, tokens and positions double, up to all slots and the whole cache."""
    doubling = [2**power for power in range(10)]
    for rows, tokens, read in report["shapes"]:
        assert rows in (*doubling, 20)
        assert tokens == 1 or tokens // 16 in doubling
        assert read // 64 in doubling
    assert len(report["shapes"]) <= report["shapes on the CPU"]
    assert len([shape for shape in report["shapes"] if shape[1] == 1]) <= 4 * 4
