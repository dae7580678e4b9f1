"""The engine on an accelerator that is only simulated: it is found, and every tensor is where it belongs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PROGRAM = """
import asyncio, pathlib, sys
from reference_server.tests import simulated_npu
registrations = simulated_npu.install()
from reference_server.engine import LocalEngine, SamplingParams
from reference_server.engine.device import select_device

def generate(device):
    engine = LocalEngine.load(pathlib.Path(sys.argv[1]), device=device, dtype="float32", slots=3)
    async def one(length, **options):
        params = SamplingParams(max_tokens=8, ignore_eos=True, **options)
        return [delta.token_id async for delta in engine.submit(list(range(length)), params)]
    async def all():
        return await asyncio.gather(one(3, temperature=0), one(70, seed=1), one(20, seed=2, n=2),
                                    one(1, seed=3), one(70, beam_search=True, n=3))
    try:
        return asyncio.run(all()), str(engine._checkpoint.model.device)
    finally:
        engine.close()

tokens, _ = generate("cpu")
simulated_npu.transfers.clear()
same, device = generate("auto")
print(tokens == same, device, sorted(simulated_npu.transfers))
"""


def test_the_accelerator_is_found_and_gives_the_tokens_of_the_cpu(random_checkpoint: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(random_checkpoint)],
        env=os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    expected = "True npu:0 ['from the device', 'to the device', 'within it']\n"
    assert result.stdout == expected
