"""Other ways to compute the attention of single tokens over a slot cache, for accelerators.

A model attends to the same number of positions in all rows, with a mask; so the longest row decides the cost of all.
For heads that share keys, it folds the heads into the queries. Some backends compute that faster with the heads as they
are, and some have a kernel that takes the length of each row and reads the cache in place.
"""

from __future__ import annotations

from typing import Any

from torch.overrides import TorchFunctionMode

from reference_server.engine.device import torch
from reference_server.engine.model.kv_cache import CacheView


class GroupedView(CacheView):
    """The view of a SlotCache in a pass over one token of each row, with all heads of the queries side by side."""

    def __init__(
        self, stored: tuple[torch.Tensor, ...], rows: torch.Tensor, positions: torch.Tensor, read: int, *, leading: bool
    ) -> None:
        super().__init__(stored, rows, positions, read, leading=leading)
        self.attention = _GroupedAttention()


class _GroupedAttention(TorchFunctionMode):
    """A context in which scaled_dot_product_attention gets all heads of the queries, and shares keys between them."""

    def __torch_function__(
        self, function: Any, _types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        if function is not torch.nn.functional.scaled_dot_product_attention:
            return function(*arguments, **(options or {}))
        queries, *others = arguments
        heads = queries.reshape(len(queries), -1, 1, queries.shape[-1])
        output: torch.Tensor = function(heads, *others, **{**(options or {}), "enable_gqa": True})
        return output.reshape(*queries.shape[:3], -1)


class LengthView(CacheView):
    """The view of a SlotCache in a pass over one token of each of its leading rows.

    A token attends to all positions of its row up to its own, whatever `read` is.
    """

    def __init__(
        self, stored: tuple[torch.Tensor, ...], rows: torch.Tensor, positions: torch.Tensor, read: int, *, leading: bool
    ) -> None:
        super().__init__(stored, rows, positions, read, leading=leading)
        self._attention = _LengthAttention(stored, positions[:, 0])
        self.attention = self._attention

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_args: object, **_kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Store a layer's new keys and values [rows, heads, 1, head size]; return them, which are not used."""
        super().update(keys, values, layer)
        self._attention.layer = layer
        return keys, values


class _LengthAttention(TorchFunctionMode):
    """A context in which scaled_dot_product_attention attends to the cache of a layer, instead of its own arguments.

    layer: the one that was last updated.
    """

    def __init__(self, stored: tuple[torch.Tensor, ...], positions: torch.Tensor) -> None:
        super().__init__()
        layers, count = len(stored) // 2, len(positions)
        capacity = stored[0].shape[1]
        flat = [part.flatten(0, 1) for part in stored]  # views: [rows * capacity, heads, size]
        self._keys, self._values = flat[:layers], flat[layers:]
        self._capacity = capacity
        self._queries = torch.arange(count + 1, dtype=torch.int32, device=positions.device)
        self._rows = self._queries * capacity
        self._lengths = (positions + 1).to(torch.int32)
        self.layer = -1

    def __torch_function__(
        self, function: Any, _types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        if function is not torch.nn.functional.scaled_dot_product_attention:
            return function(*arguments, **(options or {}))
        queries = arguments[0]  # [rows, heads, 1, size], or the heads in two dimensions
        output = torch.ops.aten._flash_attention_forward(
            queries.reshape(len(queries), -1, queries.shape[-1]),
            self._keys[self.layer],
            self._values[self.layer],
            self._queries,
            self._rows,
            1,
            self._capacity,
            0.0,
            False,
            False,
            scale=(options or {}).get("scale"),
            seqused_k=self._lengths,
        )[0]
        return output.view(queries.shape)
