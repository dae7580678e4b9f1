"""Architectures: with any kind of layers, the engine's tokens are those of transformers' own generation."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from reference_server.engine import CheckpointError, SamplingParams
from reference_server.engine.device import torch
from reference_server.engine.loop.local_engine import LocalEngine
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
    if family not in ("Bloom", "Mamba"):  # their configurations have no such field
        sizes["max_position_embeddings"] = 128
    if family not in ("GPT2", "GPTNeoX", "OPT", "Bloom", "Mamba"):
        sizes["num_key_value_heads"] = 2
    special = {"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0}
    config = getattr(transformers, f"{family}Config")(**{**sizes, **special, **others})
    torch.manual_seed(3)
    model_type = "GPT2LMHeadModel" if family == "GPT2" else f"{family.removesuffix('Text')}ForCausalLM"
    model = getattr(transformers, model_type)(config).eval()
    model.save_pretrained(path)
    return path, model


@pytest.mark.parametrize("family", FAMILIES)
def test_tokens_are_those_of_the_models_own_generation(random_checkpoint: Path, tmp_path: Path, family: str) -> None:
    path, model = write_checkpoint(random_checkpoint, tmp_path, family, **FAMILIES[family])
    engine = LocalEngine.load(path, device="cpu", slots=4)

    async def together() -> list[list[int]]:
        answers = await asyncio.gather(*(collect(engine, prompt, GREEDY) for prompt in PROMPTS))
        return [[delta.token_id for delta in answer] for answer in answers]

    actual = asyncio.run(together())
    engine.close()
    options = {"max_new_tokens": 12, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    for prompt, tokens in zip(PROMPTS, actual, strict=True):
        ids = torch.tensor([prompt])
        with torch.inference_mode():
            expected = model.generate(ids, attention_mask=torch.ones_like(ids), **options)[0, len(prompt) :].tolist()
        assert expected == tokens


def test_a_window_longer_than_every_sequence_is_ignored(random_checkpoint: Path, tmp_path: Path) -> None:
    path, _ = write_checkpoint(random_checkpoint, tmp_path, "Mistral", sliding_window=64)
    for positions, expected in ((64, None), (65, 64)):
        engine = LocalEngine.load(path, device="cpu", slots=1, max_model_len=positions)
        engine.close()
        assert expected == engine._runner.masks.window


@pytest.mark.parametrize(
    ("family", "reason"),
    [
        ("Mamba", "has layers of the kind linear_attention"),
        ("Bloom", "has an architecture that is not supported"),  # it has no position ids
    ],
)
def test_models_without_keys_and_values_by_position_are_refused(
    random_checkpoint: Path, tmp_path: Path, family: str, reason: str
) -> None:
    path, _ = write_checkpoint(random_checkpoint, tmp_path, family)
    with pytest.raises(CheckpointError, match=reason):
        LocalEngine.load(path, device="cpu", slots=1)
