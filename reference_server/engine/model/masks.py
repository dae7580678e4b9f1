"""Masks: which positions of the cache a token sees, in the form that a model's layers take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from reference_server.engine.device import torch
from reference_server.engine.protocol import CheckpointError

FULL: Final = "full_attention"
SLIDING: Final = "sliding_attention"


@dataclass(frozen=True, slots=True)
class AttentionMasks:
    """How far the layers of a model look back.

    window: how many positions a sliding layer sees, the token's own among them; None: there is no such layer, or it
        reaches as far as any sequence.
    kinds: of layers, where the model takes a mask for each kind; none: it takes one for all.
    additive: the model adds masks to its scores, in this type, as those of transformers' `eager` attention do; None:
        masks are Boolean.
    """

    window: int | None
    kinds: frozenset[str]
    additive: torch.dtype | None

    @classmethod
    def from_model(cls, model: Any, positions: int) -> AttentionMasks:
        """Those of a model whose sequences have so many positions; raises CheckpointError for other kinds of layers."""
        config = model.config.get_text_config()
        kinds = frozenset(getattr(config, "layer_types", None) or ())
        window = getattr(config, "sliding_window", None) or None  # 0 is none with some
        if unknown := sorted(kinds - {FULL, SLIDING}):
            raise CheckpointError(
                f"has layers of the kind {unknown[0]}, which is not supported: use another checkpoint"
            )
        if window is None or window >= positions or kinds == {FULL}:
            window, kinds = None, frozenset()
        eager = config._attn_implementation == "eager"
        return cls(window, kinds, model.dtype if eager else None)

    def __call__(self, seen: torch.Tensor, positions: torch.Tensor) -> torch.Tensor | dict[str, torch.Tensor]:
        """The masks of tokens at positions [rows, tokens] that may see what `seen` [rows, 1, tokens, read] says."""
        if self.window is None:
            return self._to_model_format(seen)
        places = torch.arange(seen.shape[-1], device=seen.device)
        near = self._to_model_format(seen & (places > positions[:, None, :, None] - self.window))
        return {FULL: self._to_model_format(seen), SLIDING: near} if self.kinds else near

    def _to_model_format(self, mask: torch.Tensor) -> torch.Tensor:
        if self.additive is None:
            return mask
        hidden = torch.full((), torch.finfo(self.additive).min, dtype=self.additive, device=mask.device)
        return torch.where(mask, torch.zeros((), dtype=self.additive, device=mask.device), hidden)
