"""Attention masks in the form that a model's layers expect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from reference_server.engine.device import torch
from reference_server.engine.protocol import CheckpointError

FULL: Final = "full_attention"
SLIDING: Final = "sliding_attention"


@dataclass(frozen=True, slots=True)
class AttentionMasks:
    """The attention masks of a model.

    window: number of positions that a sliding layer attends to, including the token's own; None without sliding layers,
        or if their window is as long as any sequence.
    kinds: kinds of layers, if the model takes one mask per kind; if empty, it takes one mask for all.
    additive: dtype of additive masks, which `eager` attention of transformers adds to the scores, as accelerators do;
        None: Boolean masks.
    """

    window: int | None
    kinds: frozenset[str]
    additive: torch.dtype | None

    @classmethod
    def from_model(cls, model: Any, positions: int) -> AttentionMasks:
        """Return the masks of a model whose sequences have up to `positions` positions.

        Raises CheckpointError for layers of other kinds.
        """
        config = model.config.get_text_config()
        kinds = frozenset(getattr(config, "layer_types", None) or ())
        window = getattr(config, "sliding_window", None) or None  # some models write 0 for none
        if unknown := sorted(kinds - {FULL, SLIDING}):
            raise CheckpointError(
                f"has layers of the kind {unknown[0]}, which is not supported: use another checkpoint"
            )
        if window is None or window >= positions or kinds == {FULL}:
            window, kinds = None, frozenset()
        # Kernels of accelerators add masks: a Boolean one would be converted in every layer.
        is_additive = config._attn_implementation == "eager" or model.device.type != "cpu"
        return cls(window, kinds, model.dtype if is_additive else None)

    def __call__(self, seen: torch.Tensor, positions: torch.Tensor) -> torch.Tensor | dict[str, torch.Tensor]:
        """Return the masks of tokens at positions [rows, tokens].

        seen: bool [rows, 1, tokens, read], the positions that a token with full attention attends to.
        """
        if self.window is None:
            return self._to_model_format(seen)
        key_positions = torch.arange(seen.shape[-1], device=seen.device)
        near = self._to_model_format(seen & (key_positions > positions[:, None, :, None] - self.window))
        return {FULL: self._to_model_format(seen), SLIDING: near} if self.kinds else near

    def _to_model_format(self, mask: torch.Tensor) -> torch.Tensor:
        if self.additive is None:
            return mask
        hidden = torch.full((), torch.finfo(self.additive).min, dtype=self.additive, device=mask.device)
        return torch.where(mask, torch.zeros((), dtype=self.additive, device=mask.device), hidden)
