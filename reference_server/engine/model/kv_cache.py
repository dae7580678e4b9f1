"""SlotCache: the keys and values of every running sequence, one row a slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from reference_server.engine.device import torch
from reference_server.engine.protocol import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Sequence as Seq


class LayerShape(NamedTuple):
    """What one layer keeps of a token: a key and a value for each of its key-value heads, of so many numbers."""

    heads: int
    key_size: int
    value_size: int


def find_layer_shapes(model: Any) -> list[LayerShape]:
    """What each layer of a model keeps of a token; raises CheckpointError where that is not a key and a value."""
    kept = getattr(model(input_ids=torch.zeros((1, 1), dtype=torch.long, device=model.device)), "past_key_values", None)
    shapes: list[LayerShape] = []
    for layer in getattr(kept, "layers", ()):
        keys, values = getattr(layer, "keys", None), getattr(layer, "values", None)
        if keys is None or values is None or keys.ndim != 4:
            shapes = []
            break
        shapes.append(LayerShape(keys.shape[1], keys.shape[3], values.shape[3]))
    if not shapes:
        raise CheckpointError(
            "has layers that keep something else than keys and values, which is not supported: use another"
        )
    return shapes


class SlotCache:
    """A key-value cache of fixed shape. keys, values: for each layer, [rows, capacity, key-value heads, head size].

    What a token leaves stands in one piece, and so does a prompt.
    """

    def __init__(
        self,
        *,
        layers: Seq[LayerShape],
        rows: int,
        capacity: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.keys, self.values = (
            [torch.zeros((rows, capacity, layer.heads, size), dtype=dtype, device=device) for layer, size in each]
            for each in (
                [(layer, layer.key_size) for layer in layers],
                [(layer, layer.value_size) for layer in layers],
            )
        )

    def clear(self, rows: torch.Tensor) -> None:
        """Zero some rows: a number that is none would reach whoever has the row next, through the mask."""
        for stored in (*self.keys, *self.values):
            stored[rows] = 0

    def copy(self, sources: torch.Tensor, targets: torch.Tensor, length: int) -> None:
        """Give the rows `targets` the first `length` positions of the rows `sources`; no row is in both."""
        for stored in (*self.keys, *self.values):
            stored[targets, :length] = stored[sources, :length]


class CacheView:
    """What one forward pass writes to and reads from a SlotCache: what transformers' decoder layers take for a cache.

    stored: the cache's keys, one for each layer, then its values. rows: [batch]. positions: [batch, tokens], where to
    write in each row. read: the pass attends to the first so many positions; it brings its own mask. leading: read the
    cache's first rows, in their order and without a copy, instead of the rows written.

    transformers asks for `update`, `get_seq_length`, `get_mask_sizes` and `get_query_offset`.
    """

    is_compileable = False

    def __init__(
        self,
        stored: tuple[torch.Tensor, ...],
        rows: torch.Tensor,
        positions: torch.Tensor,
        read: int,
        *,
        leading: bool,
    ) -> None:
        layers = len(stored) // 2
        self._keys, self._values = stored[:layers], stored[layers:]
        self._rows = rows[:, None]
        self._positions = positions
        self._read = read
        # By the tensor's shape and not by its length: a traced pass knows that this is another one next time.
        self._read_rows = slice(rows.shape[0]) if leading else rows

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_args: object, **_kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Store a layer's new keys and values [batch, heads, tokens, head size]; return what to attend to."""
        stored_keys, stored_values = self._keys[layer], self._values[layer]
        stored_keys[self._rows, self._positions] = keys.transpose(1, 2)
        stored_values[self._rows, self._positions] = values.transpose(1, 2)
        read = stored_keys[self._read_rows, : self._read], stored_values[self._read_rows, : self._read]
        return read[0].transpose(1, 2), read[1].transpose(1, 2)

    def get_seq_length(self, _layer: int = 0) -> int:
        return 0

    def get_query_offset(self, _layer: int = 0) -> int:
        return 0

    def get_mask_sizes(self, query_length: int, _layer: int = 0) -> tuple[int, int]:
        """Every pass brings its own mask, so nobody looks at this."""
        return query_length, 0
