"""Fixtures: a small checkpoint with random weights, engines for it, and the embedded model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine.device import torch
from reference_server.engine.loop.local_engine import LocalEngine
from reference_server.engine.loop.restarts import RestartPolicy
from reference_server.engine.model import runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from transformers import PreTrainedTokenizerFast

CHAT_TEMPLATE = """\
{%- if tools %}<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'guest' %}{{ raise_exception('the role guest is not supported') }}{% endif %}
{{- '<|im_start|>' + message.role + '\\n' }}
{%- if message.content is string %}{{ message.content }}
{%- else %}{% for part in message.content %}{{ part.text }}{% endfor %}{% endif %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if thinking %}<think>
{% endif %}{% endif %}"""

CORPUS = [
    "The quick brown fox jumps over the lazy dog, again and again.",
    "你好，世界。今天天气很好，我们去公园散步吧。",
    "emoji 😀 👨‍👩‍👧‍👦 🇨🇳 é ü naïve café",
]


def _write_tokenizer(path: Path) -> None:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=330, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(CORPUS * 4, trainer)
    special = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in special])
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in ("<think>", "</think>")])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", model_max_length=512
    )
    fast.chat_template = CHAT_TEMPLATE
    fast.save_pretrained(path)


@pytest.fixture(scope="session")
def random_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Qwen3 checkpoint of two layers with random weights, far from uniform, and a byte-level BPE tokenizer."""
    from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM

    path = tmp_path_factory.mktemp("checkpoint")
    _write_tokenizer(path)
    tokenizer = AutoTokenizer.from_pretrained(path)
    torch.manual_seed(20)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        intermediate_size=128,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        initializer_range=0.2,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    Qwen3ForCausalLM(config).save_pretrained(path)
    return path


@pytest.fixture
def load_engine(random_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., LocalEngine]]:
    """LocalEngine.load with the random checkpoint on the CPU, without restarts; the fixture closes the engines.

    They run without traced graphs, which do the same (test_forward_pass), take a second to make, and are never freed.
    """
    engines: list[LocalEngine] = []
    monkeypatch.setattr(runner, "trace_pass", lambda forward_pass, *_: forward_pass)

    def load(**options: Any) -> LocalEngine:
        options = {"restarts": RestartPolicy(max_restarts=0), **options}
        engines.append(LocalEngine.load(random_checkpoint, device="cpu", **options))
        return engines[-1]

    yield load
    for engine in engines:
        engine.close()


@pytest.fixture
def engine(load_engine: Callable[..., LocalEngine]) -> LocalEngine:
    """An engine with four slots."""
    return load_engine(slots=4)


@pytest.fixture(scope="session")
def tiny_engine() -> Iterator[LocalEngine]:
    """The embedded checkpoint on the CPU, whose answers make sense; short ones end by themselves."""
    from reference_server.tiny import CHECKPOINT

    engine = LocalEngine.load(CHECKPOINT, device="cpu", slots=4, max_new_tokens=200)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """The tokenizer of the embedded checkpoint."""
    from transformers import PreTrainedTokenizerFast

    from reference_server.tiny import CHECKPOINT

    return PreTrainedTokenizerFast.from_pretrained(CHECKPOINT, local_files_only=True)


@pytest.fixture(scope="module")
def addresses(tiny_engine: LocalEngine) -> Iterator[dict[str, str]]:
    """Map each dialect to the address of a server of the embedded model."""
    from reference_server.tests.embedded_model import serve_all_dialects

    with serve_all_dialects(tiny_engine) as servers:
        yield servers
