"""Small models of every kind, from the configurations that transformers writes itself."""

from __future__ import annotations

import warnings
from typing import Any, Final

from reference_server.engine.device import torch

MOST_PARAMETERS: Final = 60_000_000
SIZES: Final = {
    **dict.fromkeys(("vocab_size", "max_position_embeddings", "n_positions"), 128),
    **dict.fromkeys(("hidden_size", "n_embd", "d_model", "dim", "word_embed_proj_dim"), 32),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "n_inner", "d_ff", "ffn_hidden_size", "decoder_ffn_dim"), 48),
    **dict.fromkeys(("encoder_ffn_dim",), 48),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 8),
    **dict.fromkeys(("decoder_layers", "encoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("num_key_value_heads", "num_experts_per_tok"), 2),
    **dict.fromkeys(("moe_intermediate_size", "kv_lora_rank", "q_lora_rank"), 16),
    **dict.fromkeys(("head_dim", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "rotary_dim"), 8),
    **dict.fromkeys(("n_group", "topk_group"), 1),
    **dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"), 0),
}
"""Small values of fields, if a configuration has them; 8 layers, because some kinds attend in every eighth only."""
HEADS: Final = ("num_attention_heads", "num_key_value_heads")
LEFT: Final[tuple[tuple[str, ...], ...]] = (
    (),
    ("head_dim",),
    ("num_key_value_heads",),
    ("num_hidden_layers", "n_layer", "num_layers", "n_layers"),
    ("num_key_value_heads", "head_dim"),
    ("hidden_size", "head_dim", "intermediate_size", "num_attention_heads", "num_key_value_heads"),
)
"""Fields that are left as they are, tried one after another: some configurations demand relations between sizes."""


class NotBuiltError(Exception):
    """transformers builds no small model of a kind; the message is one line."""


def list_kinds() -> list[str]:
    """Return the kinds of causal language models that transformers has."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    return sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)


def build_model(kind: str) -> Any:
    """Return a small model of a kind; raise NotBuiltError."""
    from transformers import AutoConfig

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            text = AutoConfig.for_model(kind).get_text_config()
            fields = {name: value for name, value in SIZES.items() if _has_size(text, name)}
            if _are_equal(text, *HEADS):  # some kinds demand it
                fields[HEADS[1]] = fields[HEADS[0]]
        except Exception as error:  # any check of a configuration
            raise NotBuiltError(_one_line(error)) from error
        reasons = []
        for left in LEFT:
            try:
                config = type(text)(**{name: value for name, value in fields.items() if name not in left})
                return _build(config)
            except Exception as error:  # any check of a configuration or model
                reasons.append(_one_line(error))
    raise NotBuiltError(reasons[0])


def _has_size(config: Any, name: str) -> bool:
    try:
        return hasattr(config, name) and isinstance(getattr(config, name), int | None)
    except Exception:  # a field that differs between the layers
        return False


def _are_equal(config: Any, one: str, other: str) -> bool:
    return _has_size(config, one) and _has_size(config, other) and getattr(config, one) == getattr(config, other)


def _build(config: Any) -> Any:
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        count = AutoModelForCausalLM.from_config(config).num_parameters()
    if count > MOST_PARAMETERS:
        raise NotBuiltError(f"its small form still has {count / 1e6:.0f} M parameters")
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(config).eval()


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
