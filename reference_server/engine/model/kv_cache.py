"""The key-value cache of all running sequences, with one row per slot."""

from __future__ import annotations

import math
import mmap
import os
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from reference_server.engine.device import torch
from reference_server.engine.protocol import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Sequence as Seq
    from contextlib import AbstractContextManager


class LayerShape(NamedTuple):
    """The shape of the key and the value of one token in one layer: number of key-value heads and size of each head."""

    heads: int
    key_size: int
    value_size: int


def find_layer_shapes(model: Any) -> list[LayerShape]:
    """Return the shape for each layer; raise CheckpointError if a layer stores anything but keys and values."""
    kept = getattr(model(input_ids=torch.zeros((1, 1), dtype=torch.long, device=model.device)), "cache", None)
    shapes: list[LayerShape] = []
    for layer in getattr(kept, "layers", ()):
        keys, values = getattr(layer, "keys", None), getattr(layer, "values", None)
        if keys is None or values is None or keys.ndim != 4:
            shapes = []
            break
        shapes.append(LayerShape(keys.shape[1], keys.shape[3], values.shape[3]))
    if not shapes:
        raise CheckpointError(
            "has layers that store something other than keys and values, which is not supported: use another"
        )
    return shapes


class SlotCache:
    """A key-value cache of fixed shape. keys, values: for each layer, [rows, capacity, key-value heads, head size].

    The entries of a token are contiguous in memory, and so are those of a prompt.
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
            [_allocate_zeros((rows, capacity, layer.heads, size), dtype, device) for layer, size in sizes]
            for sizes in (
                [(layer, layer.key_size) for layer in layers],
                [(layer, layer.value_size) for layer in layers],
            )
        )

    def clear(self, rows: torch.Tensor) -> None:
        """Zero some rows: a NaN would reach the next sequence in the row in spite of the mask."""
        for stored in (*self.keys, *self.values):
            stored[rows] = 0

    def copy(self, sources: torch.Tensor, targets: torch.Tensor, length: int) -> None:
        """Copy the first `length` positions of the rows `sources` to the rows `targets`; no row is in both."""
        for stored in (*self.keys, *self.values):
            stored[targets, :length] = stored[sources, :length]


def _allocate_zeros(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Return zeros; on the CPU, the system provides each page of memory only when it is first written.

    torch.zeros writes all zeros itself, which takes seconds for gigabytes, and then all of them count as used. Huge
    pages would have a similar effect: a few tokens in a row of the cache would take 2 MiB of the keys and the values of
    each layer.
    """
    size = math.prod(shape) * dtype.itemsize
    if device.type != "cpu" or not size:
        return torch.zeros(shape, dtype=dtype, device=device)
    try:
        memory = mmap.mmap(-1, size, **({"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if os.name == "posix" else {}))
    except (OSError, ValueError, OverflowError) as error:
        raise RuntimeError(f"{size} bytes cannot be allocated") from error
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with suppress(OSError):  # a kernel without huge pages
            memory.madvise(mmap.MADV_NOHUGEPAGE)
    return torch.frombuffer(memory, dtype=torch.uint8).view(dtype).view(shape)


class CacheView:
    """The view of a SlotCache in one forward pass, with the interface of transformers' caches.

    transformers calls `update`, `get_seq_length`, `get_mask_sizes` and `get_query_offset`.

    stored: the keys of the cache, one tensor per layer, then its values.
    rows: [batch].
    positions: [batch, tokens], where to write in each row.
    read: number of positions to attend to, from the first; the pass has its own mask.
    leading: whether to read the first rows of the cache in order and without a copy, instead of the rows written.
    """

    attention: AbstractContextManager[object] = nullcontext()
    """A context for the model's layers, in which attention is computed in another way."""
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
        # From the shape, not from len(): a traced pass treats the shape as variable.
        self._read_rows = slice(rows.shape[0]) if leading else rows

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_args: object, **_kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Store a layer's new keys and values [batch, heads, tokens, head size]; return those to attend to."""
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
        """Return any sizes: they are unused, because every pass brings its own mask."""
        return query_length, 0
