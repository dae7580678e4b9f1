"""Architectures: with any kind of layers, the engine's tokens are those of transformers' own generation."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reference_server.engine import CheckpointError, SamplingParams
from reference_server.engine.device import torch
from reference_server.engine.loop.local_engine import LocalEngine
from reference_server.engine.model.opening import OpenedCheckpoint
from reference_server.engine.model.own_cache_runner import OwnCacheRunner
from reference_server.engine.model.runner import Runner
from reference_server.tests.runs import collect

VOCABULARY = 335
WINDOW = 16
PROMPTS = [list(range(5, 10)), list(range(10, 70)), list(range(40, 63))]
GREEDY = SamplingParams(temperature=0, max_tokens=12, ignore_eos=True)
EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 16}
FAMILIES: dict[str, dict[str, Any]] = {
    "Llama": {},
    "Qwen2": {},
    "Qwen3Moe": {"num_experts": 4, **EXPERTS},
    "Gemma": {},
    "Phi3": {},
    "Olmo2": {},
    "Granite": {"logits_scaling": 4.0},  # logits are divided
    "Cohere": {"logit_scale": 0.25},  # and multiplied
    "Mistral": {"sliding_window": WINDOW},  # in every layer
    "Gemma2": {"sliding_window": WINDOW, "final_logit_softcapping": 2.0},  # in every other layer; caps; no sdpa
    "Gemma3Text": {"sliding_window": WINDOW, "num_hidden_layers": 6},  # and rotations of two kinds
    "GptOss": {"sliding_window": WINDOW, "num_local_experts": 4, "num_experts_per_tok": 2},  # and sinks; no sdpa
    "DeepseekV3": {  # keys and values of different sizes
        "kv_lora_rank": 16,
        "q_lora_rank": 16,
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 8,
        "v_head_dim": 12,
        "n_routed_experts": 4,
        "n_group": 1,
        "topk_group": 1,
        "first_k_dense_replace": 1,
        "num_key_value_heads": 4,
        **EXPERTS,
    },
    "GPT2": {},  # learned positions; no key-value heads in its configuration
    "GPTNeoX": {},
    "OPT": {"ffn_dim": 32, "word_embed_proj_dim": 32},
}


def write_checkpoint(checkpoint: Path, folder: Path, family: str, **others: Any) -> tuple[Path, Any]:
    """Write a checkpoint of a model family with random weights; return its path and model."""
    import transformers

    path = Path(shutil.copytree(checkpoint, folder / "copy"))
    sizes: dict[str, Any] = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 32,
    }
    sizes |= {"head_dim": 8, "vocab_size": VOCABULARY, "initializer_range": 0.3}
    if family not in ("Bloom", "Mamba", "FalconMamba"):  # their configurations have no such field
        sizes["max_position_embeddings"] = 128
    if family not in ("GPT2", "GPTNeoX", "OPT", "Bloom", "Mamba", "FalconMamba"):
        sizes["num_key_value_heads"] = 2
    special = {"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0}
    config = getattr(transformers, f"{family}Config")(**{**sizes, **special, **others})
    torch.manual_seed(3)
    model_type = "GPT2LMHeadModel" if family == "GPT2" else f"{family.removesuffix('Text')}ForCausalLM"
    model = getattr(transformers, model_type)(config).eval()
    model.save_pretrained(path)
    return path, model


def generate(model: Any, prompt: list[int]) -> list[int]:
    """Return the tokens that transformers generates after a prompt."""
    ids = torch.tensor([prompt])
    options = {"max_new_tokens": 12, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    with torch.inference_mode():
        tokens: list[int] = model.generate(ids, attention_mask=torch.ones_like(ids), **options)[0].tolist()
    return tokens[len(prompt) :]


@pytest.mark.takes_turns
@pytest.mark.parametrize("family", FAMILIES)
def test_tokens_are_those_of_the_models_own_generation(random_checkpoint: Path, tmp_path: Path, family: str) -> None:
    path, model = write_checkpoint(random_checkpoint, tmp_path, family, **FAMILIES[family])
    engine = LocalEngine.load(path, device="cpu", slots=4)

    async def together() -> list[list[int]]:
        answers = await asyncio.gather(*(collect(engine, prompt, GREEDY) for prompt in PROMPTS))
        return [[delta.token_id for delta in answer] for answer in answers]

    actual = asyncio.run(together())
    engine.close()
    assert [generate(model, prompt) for prompt in PROMPTS] == actual


def test_a_window_longer_than_every_sequence_is_ignored(random_checkpoint: Path, tmp_path: Path) -> None:
    path, _ = write_checkpoint(random_checkpoint, tmp_path, "Mistral", sliding_window=64)
    for positions, expected in ((64, None), (65, 64)):
        engine = LocalEngine.load(path, device="cpu", slots=1, max_model_len=positions)
        engine.close()
        assert isinstance(engine._runner, Runner)
        assert expected == engine._runner.masks.window


OWN_CACHE: dict[str, dict[str, Any]] = {
    "Mamba": {},
    "FalconMamba": {},
    "Bloom": {},  # it has no position ids
    "Qwen3Next": {  # layers with a state and layers with keys and values
        "num_hidden_layers": 4,
        "num_experts": 4,
        "shared_expert_intermediate_size": 16,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 8,
        "linear_value_head_dim": 8,
        **EXPERTS,
    },
}


@pytest.mark.parametrize("family", OWN_CACHE)
def test_a_model_that_the_slot_cache_cannot_hold_is_served_over_its_own(
    random_checkpoint: Path, tmp_path: Path, family: str
) -> None:
    path, model = write_checkpoint(random_checkpoint, tmp_path, family, **OWN_CACHE[family])
    engine = LocalEngine.load(path, device="cpu", slots=2)  # the third prompt waits for a slot
    assert "over the model's own cache, one sequence after another" in engine.describe()

    async def together() -> list[list[int]]:
        answers = await asyncio.gather(*(collect(engine, prompt, GREEDY) for prompt in PROMPTS))
        return [[delta.token_id for delta in answer] for answer in answers]

    actual = asyncio.run(together())
    engine.close()
    assert [generate(model, prompt) for prompt in PROMPTS] == actual


def test_choices_and_beams_are_the_same_over_both_caches(random_checkpoint: Path, tmp_path: Path) -> None:
    """Each copies what a slot has stored to others."""
    path, model = write_checkpoint(random_checkpoint, tmp_path, "Llama")
    with torch.inference_mode():
        own = OwnCacheRunner(model, slots=4, max_model_len=128)
    requests = [
        replace(GREEDY, n=3, temperature=1.0, seed=5),
        replace(GREEDY, n=2, best_of=3, beam_search=True),
        replace(GREEDY, prompt_logprobs=1),
    ]
    answers = []
    for runner in (None, own):
        engine = LocalEngine.load(path, device="cpu", slots=4, exact=True)
        if runner is not None:
            engine.close()
            opened = OpenedCheckpoint(engine._checkpoint, runner, engine.plan, engine.choice)
            engine = LocalEngine(opened, max_new_tokens=12)
        answers.append([asyncio.run(collect(engine, PROMPTS[0], request)) for request in requests])
        engine.close()
    first, second = ([[delta.token_id for delta in answer] for answer in given] for given in answers)
    assert first == second


def test_a_model_that_does_not_continue_its_own_sequences_is_refused(
    random_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = write_checkpoint(random_checkpoint, tmp_path, "Mamba")
    monkeypatch.setattr(OwnCacheRunner, "decode", lambda runner, tokens, *_: torch.zeros(len(tokens), VOCABULARY))
    with pytest.raises(CheckpointError, match="has layers of the kind linear_attention"):
        LocalEngine.load(path, device="cpu", slots=1)
