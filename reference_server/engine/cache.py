"""SlotCache: the keys and values of every running sequence, one row a slot."""

from __future__ import annotations

from .device import torch


class SlotCache:
    """A key-value cache of fixed shape that transformers' decoder layers write to and read from.

    keys, values: for each layer, [rows, key-value heads, capacity, head size].

    transformers asks a cache for `update`, `get_seq_length`, `get_mask_sizes` and `get_query_offset`; before
    each forward pass `begin_prefill` or `begin_decode` says which rows and positions the pass is about.
    """

    is_compileable = False

    def __init__(
        self,
        *,
        layers: int,
        rows: int,
        heads: int,
        capacity: int,
        head_size: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        shape = (rows, heads, capacity, head_size)
        self.keys = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(layers)]
        self.values = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(layers)]
        self._rows = torch.arange(rows, device=device)
        self._positions: torch.Tensor | None = None
        self._read = 0
        self._leading = 0

    def begin_prefill(self, rows: torch.Tensor) -> None:
        """The pass holds whole prompts, from position 0; rows: [batch]."""
        self._rows = rows
        self._positions = None

    def begin_decode(self, rows: torch.Tensor, positions: torch.Tensor, read: int, leading: bool) -> None:
        """The pass holds one token for each row, at its position, and attends to the first `read` positions.

        rows, positions: [batch], where to write. leading: read the cache's first rows, in their order and
        without a copy, instead of the rows written.
        """
        self._rows = rows
        self._positions = positions
        self._read = read
        self._leading = len(rows) if leading else 0

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_args: object, **_kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Store a layer's new keys and values [batch, heads, tokens, head size]; return what to attend to."""
        stored_keys, stored_values = self.keys[layer], self.values[layer]
        if self._positions is None:
            length = keys.shape[2]
            stored_keys[self._rows, :, :length] = keys
            stored_values[self._rows, :, :length] = values
            return keys, values
        stored_keys[self._rows, :, self._positions] = keys[:, :, 0]
        stored_values[self._rows, :, self._positions] = values[:, :, 0]
        rows = slice(self._leading) if self._leading else self._rows
        return stored_keys[rows, :, : self._read], stored_values[rows, :, : self._read]

    def copy(self, sources: torch.Tensor, targets: torch.Tensor, length: int) -> None:
        """Give the rows `targets` the first `length` positions of the rows `sources`; no row is in both."""
        for stored in (*self.keys, *self.values):
            stored[targets, :, :length] = stored[sources, :, :length]

    def get_seq_length(self, _layer: int = 0) -> int:
        return 0

    def get_query_offset(self, _layer: int = 0) -> int:
        return 0

    def get_mask_sizes(self, query_length: int, _layer: int = 0) -> tuple[int, int]:
        """A prompt attends to itself alone; decode steps bring their own mask and never ask."""
        return query_length, 0
