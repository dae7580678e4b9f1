"""The kinds of checkpoints that cannot be served, which their files show before they are loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.engine.protocol import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

TOKENIZER_FILES: Final = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model")
"""transformers reads, or converts, a tokenizer from any of them."""
POSITION_LIMITS: Final = ("max_position_embeddings", "n_positions", "seq_length", "max_seq_len")


def require_supported_kind(path: Path) -> None:
    """Raise CheckpointError if the files of a checkpoint directory show that it cannot be served.

    A directory that passes can still fail to load, for example if a file is broken.
    """
    from transformers import PreTrainedConfig

    try:
        config, _ = PreTrainedConfig.get_config_dict(str(path), local_files_only=True)
    except (OSError, ValueError):
        return
    if isinstance(config, dict) and (problem := _find_problem(path, config)) is not None:
        raise CheckpointError(f"{path} {problem}")


def reads_media(path: Path) -> bool:
    """Return whether a checkpoint directory holds a vision-language model."""
    from transformers import PreTrainedConfig
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

    try:
        config, _ = PreTrainedConfig.get_config_dict(str(path), local_files_only=True)
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and _is_vision_language(config, MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES)


def _is_vision_language(config: dict[str, Any], kinds: Collection[str]) -> bool:
    return config.get("model_type") in kinds and "vision_config" in config


def find_position_limit(config: Any) -> int | None:
    """Return the maximum number of positions that a configuration of transformers states; None if it states none."""
    limits = (getattr(config, name, None) for name in POSITION_LIMITS)
    return next((limit for limit in limits if isinstance(limit, int) and limit > 0), None)


def _find_problem(path: Path, config: dict[str, Any]) -> str | None:
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    )

    kind = config.get("model_type")
    quantization = config.get("quantization_config")
    if quantization:
        method = quantization.get("quant_method", "unknown") if isinstance(quantization, dict) else "unknown"
        return f"is quantized (method {method}), which is not supported: use the original checkpoint"
    served = {*MODEL_FOR_CAUSAL_LM_MAPPING_NAMES}
    if _is_vision_language(config, MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES):
        served.add(str(kind))
    if isinstance(kind, str) and kind not in served:
        if config.get("auto_map"):
            return (
                f"needs code of its own for models of the kind {kind}, and such code is not run: use another checkpoint"
            )
        return f"holds a model of the kind {kind}: expected a causal language model"
    if config.get("is_encoder_decoder"):
        return f"holds an encoder and a decoder ({kind}), and only decoders are supported: use another checkpoint"
    if not any((path / name).is_file() for name in TOKENIZER_FILES):
        return "contains no tokenizer: restore the directory"
    return None
