"""Models that are too large to be packed: nothing is padded without `exact`, and the tokens are right."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from reference_server.engine import SamplingParams
from reference_server.engine.device import torch
from reference_server.engine.model.matrices.packed_linear import PackedLinear
from reference_server.engine.model.ragged_pass import Piece, RaggedPass
from reference_server.engine.model.runner import Runner
from reference_server.tests.engine.loop.test_prefill import requests
from reference_server.tests.runs import answers, collect

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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


def _asked(engine: LocalEngine, prompt: list[int], tokens: int) -> None:
    asyncio.run(collect(engine, prompt, SamplingParams(temperature=0, max_tokens=tokens, ignore_eos=True)))


def test_only_exact_engines_pad_rows_and_prompts(
    load_engine: Callable[..., LocalEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    exact, other = load_engine(slots=4, exact=True), load_engine(slots=4)
    padded, ragged = set(), set()
    assert isinstance(exact._runner, Runner)
    mask, create = exact._runner._mask, RaggedPass.__init__

    def record_mask(positions: torch.Tensor, read: int) -> torch.Tensor:
        padded.add((*positions.shape, read))
        return mask(positions, read)

    def record_pieces(ragged_pass: RaggedPass, stored: Sequence[torch.Tensor], pieces: Sequence[Piece]) -> None:
        ragged.add(tuple(len(piece.tokens) for piece in pieces))
        create(ragged_pass, stored, pieces)

    monkeypatch.setattr(exact._runner, "_mask", record_mask)
    monkeypatch.setattr(RaggedPass, "__init__", record_pieces)
    for engine in (exact, other):
        _asked(engine, list(range(5)), 2)
    assert padded == {(1, 16, 64), (4, 1, 16)}
    assert ragged == {(5,), (1,)}
    assert exact.describe().startswith("float32 (")
    assert exact.describe().endswith("the same bits in any batch")
    assert other.describe().endswith("bits that depend on the batch")


def test_running_answers_get_their_tokens_in_the_passes_of_a_long_prompt(
    load_engine: Callable[..., LocalEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = load_engine(slots=4)
    passes: list[list[int]] = []
    prefill = engine._runner.prefill

    def record(pieces: Sequence[Sequence[int]], *places: Sequence[int]) -> torch.Tensor:
        passes.append([len(piece) for piece in pieces])
        return prefill(pieces, *places)

    monkeypatch.setattr(engine._runner, "prefill", record)
    running = SamplingParams(temperature=0, max_tokens=100, ignore_eos=True)

    async def run() -> None:
        first = asyncio.create_task(collect(engine, PROMPTS[0], running))
        await asyncio.sleep(0.1)
        await asyncio.gather(first, collect(engine, PROMPTS[2], GREEDY))

    asyncio.run(run())
    mixed = [pieces for pieces in passes if len(pieces) == 2]
    assert sum(pieces[0] for pieces in mixed) == len(PROMPTS[2])
    assert {pieces[1] for pieces in mixed} == {1}


def test_every_kind_of_request_gets_the_tokens_of_an_exact_engine(load_engine: Callable[..., LocalEngine]) -> None:
    exact = load_engine(slots=8, exact=True, prefill_tokens=64)
    asked = requests(exact.vocabulary_size, seed=3)
    expected = answers(exact, asked)
    actual = answers(load_engine(slots=8, prefill_tokens=64), asked)
    assert [[row[:2] for row in answer] for answer in expected] == [[row[:2] for row in answer] for answer in actual]
