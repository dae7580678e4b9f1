"""Checkpoints of realistic shapes with random weights: speed and memory depend on the shape, not on the values.

python -m benchmarks.random_checkpoint qwen3-0.6b FOLDER
"""

from __future__ import annotations

import base64
import random
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from reference_server.tiny import CHECKPOINT

if TYPE_CHECKING:
    from collections.abc import Mapping

SHAPES: Final[Mapping[str, Mapping[str, Any]]] = {
    "qwen3-0.6b": {  # https://huggingface.co/Qwen/Qwen3-0.6B, config.json
        "model_type": "qwen3",
        "vocab_size": 151_936,
        "hidden_size": 1024,
        "intermediate_size": 3072,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "max_position_embeddings": 40_960,
        "tie_word_embeddings": True,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000.0},
    },
    "qwen3-8b": {  # https://huggingface.co/Qwen/Qwen3-8B
        "model_type": "qwen3",
        "vocab_size": 151_936,
        "hidden_size": 4096,
        "intermediate_size": 12_288,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "max_position_embeddings": 40_960,
        "tie_word_embeddings": False,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000.0},
    },
    "qwen3-30b-a3b": {  # https://huggingface.co/Qwen/Qwen3-30B-A3B: a mixture of experts
        "model_type": "qwen3_moe",
        "vocab_size": 151_936,
        "hidden_size": 2048,
        "intermediate_size": 6144,
        "moe_intermediate_size": 768,
        "num_hidden_layers": 48,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "head_dim": 128,
        "num_experts": 128,
        "num_experts_per_tok": 8,
        "norm_topk_prob": True,
        "max_position_embeddings": 40_960,
        "tie_word_embeddings": False,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000.0},
    },
    "gemma3-4b": {  # https://huggingface.co/google/gemma-3-4b-it, text_config: five of six layers have a window
        "model_type": "gemma3_text",
        "vocab_size": 262_208,
        "hidden_size": 2560,
        "intermediate_size": 10_240,
        "num_hidden_layers": 34,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "sliding_window": 1024,
        "max_position_embeddings": 131_072,
        "tie_word_embeddings": True,
    },
}
"""Name -> the kind of the model and the arguments of its configuration in transformers."""
NORM_WEIGHTS: Final = {"gemma3_text": 0.0}
"""Weights of normalization layers that keep the size of their input, if not 1: the layers of Gemma add 1 to theirs."""
VOCABULARY_PACKAGE: Final = "dashscope"
VOCABULARY_FILE: Final = "resources/qwen.tiktoken"
"""Qwen's own vocabulary, which a package of PyPI (Apache-2.0) contains: one line for each token, with its rank."""
GENERATED_TOKENS: Final = 151_643
MAX_TOKEN_BYTES: Final = 16
PAD: Final = "<|endoftext|>"
END: Final = "<|im_end|>"
SPECIAL_TOKENS: Final = (PAD, "<|im_start|>", END)
MARKERS: Final = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")
SPLIT: Final = r"\p{N}|[^\r\n\p{L}\p{N}]?\p{L}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?!\S)|\s+"
WEIGHT_SCALE: Final = 0.02
BLOCK: Final = 2**22
"""Random numbers that are drawn; all weights are made of them."""


def write_random_checkpoint(shape: str, folder: Path, *, layers: int | None = None, device: str = "cpu") -> str:
    """Write a bfloat16 checkpoint to an empty folder; return where its vocabulary is from.

    layers: number of layers instead of the shape's own. device: draws the weights.
    """
    from transformers import PreTrainedTokenizerFast

    tokens, origin = _read_vocabulary()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=_create_tokenizer(tokens),
        pad_token=PAD,
        eos_token=END,
        model_max_length=SHAPES[shape]["max_position_embeddings"],
    )
    tokenizer.save_pretrained(folder)
    shutil.copy(CHECKPOINT / "chat_template.jinja", folder)
    changes = {} if layers is None else {"num_hidden_layers": layers}
    _write_weights({**SHAPES[shape], **changes}, folder, tokenizer.eos_token_id, device)
    return origin


def _read_vocabulary() -> tuple[list[bytes], str]:
    """Return the tokens in order of rank, and their origin: the package if it is installed, otherwise generated."""
    spec = find_spec(VOCABULARY_PACKAGE)
    if spec is not None and spec.origin is not None:
        lines = (Path(spec.origin).parent / VOCABULARY_FILE).read_bytes().splitlines()
        ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
        return sorted(
            ranks, key=ranks.__getitem__
        ), f"Qwen's vocabulary of {len(ranks):,} tokens ({VOCABULARY_PACKAGE})"
    generator = random.Random(0)
    tokens = {bytes([value]): None for value in range(256)}
    words = list(tokens)
    while len(words) < GENERATED_TOKENS:
        merged = generator.choice(words) + generator.choice(words)
        if len(merged) <= MAX_TOKEN_BYTES and merged not in tokens:
            tokens[merged] = None
            words.append(merged)
    return words, f"a generated vocabulary of {len(words):,} tokens ({VOCABULARY_PACKAGE} is not installed)"


def _create_tokenizer(tokens: list[bytes]) -> Any:
    """Return a byte-level BPE tokenizer whose merges are the splits of each token into two others, by rank."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

    letters = _byte_letters()
    ranks = {token: rank for rank, token in enumerate(tokens)}
    names = ["".join(letters[value] for value in token) for token in tokens]
    merges = []
    for token in tokens:
        splits = [(ranks.get(token[:at], -1), ranks.get(token[at:], -1)) for at in range(1, len(token))]
        merges += [(names[left], names[right]) for left, right in sorted(splits) if left >= 0 and right >= 0]
    model = models.BPE(vocab={name: rank for rank, name in enumerate(names)}, merges=merges)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIAL_TOKENS])
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in MARKERS])
    return tokenizer


def _byte_letters() -> list[str]:
    """Return the letter of byte-level BPE for each byte: itself if it is printable, otherwise one from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(value) if value in printable else chr(next(others)) for value in range(256)]


def _write_weights(shape: Mapping[str, Any], folder: Path, end_id: int, device: str) -> None:
    """Write config.json, generation_config.json and random weights in bfloat16."""
    from transformers import AutoConfig, AutoModelForCausalLM

    from reference_server.engine.device import torch

    config = AutoConfig.for_model(**shape, eos_token_id=end_id, bos_token_id=None, pad_token_id=None)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config).to(torch.bfloat16)
    model = model.to_empty(device=device)
    model.tie_weights()
    generator = torch.Generator(device).manual_seed(0)
    block = torch.randn(BLOCK, generator=generator, device=device).mul_(WEIGHT_SCALE).to(torch.bfloat16)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("norm.weight"):
                parameter.fill_(NORM_WEIGHTS.get(config.model_type, 1.0))
                continue
            flat = parameter.view(-1)
            for begin in range(0, len(flat), BLOCK):  # a shifted copy: a CPU would draw each number for a minute
                shift = int(torch.randint(BLOCK, (), generator=generator, device=device))
                flat[begin : begin + BLOCK] = block.roll(shift)[: len(flat) - begin]
    model.save_pretrained(folder)


@click.command()
@click.argument("shape", type=click.Choice(sorted(SHAPES)))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--layers", type=click.IntRange(1), help="Number of layers (default: those of the shape).")
@click.option("--device", default="cpu", show_default=True, help="Device that draws the weights: cpu, cuda, ...")
def main(shape: str, folder: Path, layers: int | None, device: str) -> None:
    """Write a random checkpoint of SHAPE to a new FOLDER, for `chatproof serve --checkpoint`."""
    folder.mkdir(parents=True)
    click.echo(f"{shape} with {write_random_checkpoint(shape, folder, layers=layers, device=device)} in {folder}")


if __name__ == "__main__":
    main()
