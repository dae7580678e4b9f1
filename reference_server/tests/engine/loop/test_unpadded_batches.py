"""Models that are too large to be packed: nothing is padded without `exact`, and the tokens are right."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from reference_server.engine import SamplingParams
from reference_server.engine.device import torch
from reference_server.engine.model.packed_linear import PackedLinear
from reference_server.tests.runs import collect

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reference_server.engine.loop.local_engine import LocalEngine

PROMPTS = [list(range(5, 10)), [7], list(range(10, 170)), list(range(40, 63))]
GREEDY = SamplingParams(temperature=0, max_tokens=20, ignore_eos=True)


@pytest.fixture(autouse=True)
def unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every model as one whose matrices are too large to be packed."""
    monkeypatch.setattr(PackedLinear, "from_model", lambda _: None)


def _answers(engine: LocalEngine, *, together: bool) -> list[list[int]]:
    async def one(prompt: list[int]) -> list[int]:
        return [delta.token_id for delta in await collect(engine, prompt, GREEDY)]

    async def run() -> list[list[int]]:
        if together:
            return await asyncio.gather(*map(one, PROMPTS))
        return [await one(prompt) for prompt in PROMPTS]

    return asyncio.run(run())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_each_request_alone_gets_the_tokens_of_the_models_own_generation(
    load_engine: Callable[..., LocalEngine], random_checkpoint: Path, dtype: str
) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(random_checkpoint, dtype=dtype).eval()
    options = {"max_new_tokens": 20, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    expected = []
    for prompt in PROMPTS:
        ids = torch.tensor([prompt])
        with torch.inference_mode():
            generated = model.generate(ids, attention_mask=torch.ones_like(ids), **options)
        expected.append(generated[0, len(prompt) :].tolist())
    engine = load_engine(slots=4, dtype=dtype)
    assert expected == _answers(engine, together=False)
    if dtype == "float32":  # in 16 bits, near ties may fall differently in a batch
        assert expected == _answers(engine, together=True)


@pytest.mark.parametrize("exact", [False, True])
def test_only_exact_engines_pad_rows_and_prompts(
    load_engine: Callable[..., LocalEngine], monkeypatch: pytest.MonkeyPatch, exact: bool
) -> None:
    engine = load_engine(slots=4, exact=exact)
    runner, shapes = engine._runner, set()
    mask = runner._mask

    def recorded(positions: torch.Tensor, read: int) -> torch.Tensor:
        shapes.add((*positions.shape, read))
        return mask(positions, read)

    monkeypatch.setattr(runner, "_mask", recorded)
    asyncio.run(collect(engine, list(range(5)), SamplingParams(temperature=0, max_tokens=2, ignore_eos=True)))
    assert shapes == ({(1, 16, 64), (4, 1, 16)} if exact else {(1, 5, 16), (1, 1, 16)})
    words = "the same bits in any batch" if exact else "bits that depend on the batch"
    assert engine.describe().startswith("float32 (")
    assert engine.describe().endswith(words)
