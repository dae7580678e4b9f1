"""Facts about a checkpoint that are known before its weights are read."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reference_server.engine.device import load_npu, torch
from reference_server.engine.model.cache_plan import DEFAULT_POSITIONS
from reference_server.engine.model.checkpoint_kind import find_position_limit, reads_media
from reference_server.engine.model.kv_cache import LayerShape, find_layer_shapes
from reference_server.engine.protocol import CheckpointError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CheckpointFacts:
    """What the configuration of a checkpoint says.

    dtype: of the stored weights; None if neither the configuration nor a safetensors file says it.
    parameters: number of weights; those that are used twice count once.
    layers: shapes of the keys and values of each layer; None if the model cannot say them without its weights.
    position_limit: maximum number of positions of a sequence; DEFAULT_POSITIONS if the configuration states none.
    """

    dtype: torch.dtype | None
    parameters: int
    layers: tuple[LayerShape, ...] | None
    position_limit: int

    @classmethod
    def of_model(cls, model: Any) -> CheckpointFacts:
        """Return the facts about a loaded model, or one without memory for its weights."""
        config = model.config.get_text_config()
        limit = find_position_limit(config) or DEFAULT_POSITIONS
        return cls(config.dtype, model.num_parameters(), _layer_shapes(model), limit)

    @property
    def position_elements(self) -> int | None:
        """Number of elements of the keys and values of one position, in all layers."""
        if self.layers is None:
            return None
        return sum(layer.heads * (layer.key_size + layer.value_size) for layer in self.layers)


def inspect_checkpoint(path: Path) -> CheckpointFacts | None:
    """Return the facts about a checkpoint directory, from a model without memory for its weights.

    None if no such model can be created; loading then tells why, or succeeds.
    """
    load_npu()  # transformers checks for it on import
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

    try:
        config = AutoConfig.from_pretrained(path, local_files_only=True, trust_remote_code=False)
        stored = config.get_text_config().dtype or _stored_dtype(path)
        with torch.device("meta"):
            loader = AutoModelForImageTextToText if reads_media(path) else AutoModelForCausalLM
            model = loader.from_config(config, trust_remote_code=False).eval()
        return replace(CheckpointFacts.of_model(model), dtype=stored)
    except Exception as error:  # a broken file or an unusual model can raise any exception
        _log.info("nothing is known about %s before it is loaded: %s", path, error)
        return None


def _layer_shapes(model: Any) -> tuple[LayerShape, ...] | None:
    try:
        with torch.inference_mode():
            return tuple(find_layer_shapes(model))
    except (CheckpointError, NotImplementedError, RuntimeError) as error:  # a shape that depends on a number
        _log.info("the shapes of the cache are not known before loading: %s", error)
        return None


def _stored_dtype(path: Path) -> torch.dtype | None:
    """Return the type of the first tensor of the first safetensors file, as transformers does."""
    from safetensors import safe_open

    for file in sorted(path.glob("*.safetensors")):
        with safe_open(file, framework="pt") as tensors:
            for name in tensors.keys():  # noqa: SIM118 - not a mapping
                return _SAFETENSORS_DTYPES.get(tensors.get_slice(name).get_dtype())
    return None


_SAFETENSORS_DTYPES = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}
