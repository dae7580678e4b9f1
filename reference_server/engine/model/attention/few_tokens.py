"""Attention of few tokens on a CPU, as torch's kernel computes it fastest."""

from __future__ import annotations

from typing import Any, Final

from torch.overrides import TorchFunctionMode

from reference_server.engine.device import torch
from reference_server.engine.model.kv_cache import CacheView

FEWEST_QUERIES: Final = 2
"""Of each head: with a single one, the kernel for 16-bit types takes about four times as long."""


def attend(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    *,
    attn_mask: torch.Tensor | None = None,
    scale: float | None = None,
) -> torch.Tensor:
    """Return what torch.nn.functional.scaled_dot_product_attention does.

    queries: [rows, heads, tokens, key size].
    keys, values: [rows, key-value heads, positions, size]. Heads of queries that share them are computed as if they
        were further tokens: the kernel reads the keys once for all tokens of a head.
    attn_mask: bool [rows, 1, tokens, positions].
    """
    rows, heads, tokens, _ = queries.shape
    sharing = heads // keys.shape[1]
    folded = queries.reshape(rows, keys.shape[1], sharing * tokens, -1)
    if attn_mask is not None and tokens > 1:
        attn_mask = attn_mask.repeat(1, 1, sharing, 1)
    lone = sharing * tokens == 1
    if lone:
        folded = folded.expand(-1, -1, FEWEST_QUERIES, -1)
    outputs = torch.nn.functional.scaled_dot_product_attention(folded, keys, values, attn_mask=attn_mask, scale=scale)
    if lone:
        outputs = outputs[:, :, :1]
    return outputs.reshape(rows, heads, tokens, -1)


class StepView(CacheView):
    """The view of a SlotCache in a pass over one token of each row, which attends with `attend`."""

    def __init__(
        self, stored: tuple[torch.Tensor, ...], rows: torch.Tensor, positions: torch.Tensor, read: int, *, leading: bool
    ) -> None:
        super().__init__(stored, rows, positions, read, leading=leading)
        self.attention = _StepAttention()


class _StepAttention(TorchFunctionMode):
    """A context in which scaled_dot_product_attention of single tokens is computed by `attend`."""

    def __torch_function__(
        self, function: Any, _types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        given = options or {}
        is_other = function is not torch.nn.functional.scaled_dot_product_attention
        if is_other or arguments[0].shape[2] != 1 or given.get("dropout_p") or given.get("is_causal"):
            return function(*arguments, **given)
        return attend(*arguments, attn_mask=given.get("attn_mask"), scale=given.get("scale"))
