"""LocalEngine: what comes out is what the model says, for every way a request can end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from reference_server.engine import Delta, SamplingParams
from reference_server.engine.device import torch

if TYPE_CHECKING:
    from pathlib import Path

    from reference_server.engine.local import LocalEngine

GREEDY = SamplingParams(temperature=0, max_tokens=40, ignore_eos=True)


async def collect(engine: LocalEngine, prompt: list[int], params: SamplingParams) -> list[Delta]:
    return [delta async for delta in engine.submit(prompt, params)]


def test_greedy_tokens_are_those_of_transformers(random_checkpoint: Path, engine: LocalEngine) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(random_checkpoint, dtype="float32")
    for text in ("hello", "你好，世界", "The quick brown fox jumps over the lazy dog. " * 5):
        prompt = engine.encode_chat([{"role": "user", "content": text}])
        with torch.inference_mode():
            output = model.generate(
                torch.tensor([prompt]), do_sample=False, max_new_tokens=40, eos_token_id=None, pad_token_id=0
            )
        deltas = asyncio.run(collect(engine, prompt, GREEDY))
        assert output[0, len(prompt) :].tolist() == [delta.token_id for delta in deltas]
        assert deltas[-1].finish_reason == "length"
