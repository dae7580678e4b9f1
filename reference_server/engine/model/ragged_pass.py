"""Forward passes over pieces of different lengths without padding: prompts, and next tokens of other sequences.

All tokens go through the model as one row, so each matrix is read once, and a token costs the same whatever the other
sequences need. Attention is computed for each sequence alone, over its own positions only, directly from the cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from torch.overrides import TorchFunctionMode

from reference_server.engine.device import torch
from reference_server.engine.model.attention.few_tokens import attend

if TYPE_CHECKING:
    from collections.abc import Sequence as Seq

MOST_MASKED: Final = 64
"""Positions that a sequence reads without use at most, so that adjacent rows of the cache can be read together."""


class Piece(NamedTuple):
    """The next tokens of a sequence, the first of them at the position `start` of its slot."""

    tokens: Seq[int]
    slot: int
    start: int

    @property
    def end(self) -> int:
        """Number of positions in the slot afterwards."""
        return self.start + len(self.tokens)


@dataclass(frozen=True, slots=True)
class _Group:
    """Pieces whose attention is computed together: of equal length, in adjacent slots.

    tokens: their tokens in the pass.
    length: tokens of each piece.
    slots: of the cache.
    read: positions to read.
    mask: bool [pieces, 1, length, read]; None: each token attends to all.
    """

    tokens: slice
    length: int
    slots: slice
    read: int
    mask: torch.Tensor | None

    @classmethod
    def of_pieces(cls, pieces: Seq[Piece], first: int) -> _Group:
        length, read = len(pieces[0].tokens), max(piece.end for piece in pieces)
        mask = None
        if length > 1 or any(piece.end != read for piece in pieces):
            positions = torch.tensor([piece.start for piece in pieces])[:, None] + torch.arange(length)
            mask = (torch.arange(read) <= positions[:, :, None])[:, None]
        tokens = slice(first, first + length * len(pieces))
        return cls(tokens, length, slice(pieces[0].slot, pieces[-1].slot + 1), read, mask)

    def attend(
        self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float | None
    ) -> torch.Tensor:
        """Return the outputs [heads, tokens, value size] for queries [heads, tokens, key size] of the group.

        keys, values: of a layer, [slots, positions, key-value heads, size].
        """
        keys, values = (stored[self.slots, : self.read].transpose(1, 2) for stored in (keys, values))
        rows = queries.view(len(queries), -1, self.length, queries.shape[-1]).transpose(0, 1)
        return attend(rows, keys, values, attn_mask=self.mask, scale=scale).transpose(0, 1).flatten(1, 2)


def arrange(pieces: Seq[Piece]) -> list[int]:
    """Return the order of pieces in which as many as possible can be computed together."""
    return sorted(range(len(pieces)), key=lambda at: (len(pieces[at].tokens), pieces[at].slot))


def _form_groups(pieces: Seq[Piece]) -> list[_Group]:
    """Return the groups of pieces in the order of `arrange`."""
    groups: list[_Group] = []
    first = 0
    for length, alike in groupby(pieces, key=lambda piece: len(piece.tokens)):
        run: list[Piece] = []
        for piece in alike:
            ends = [other.end for other in (*run, piece)]
            if run and (length > 1 or piece.slot != run[-1].slot + 1 or max(ends) - min(ends) > MOST_MASKED):
                groups.append(_Group.of_pieces(run, first))
                first, run = groups[-1].tokens.stop, []
            run.append(piece)
        groups.append(_Group.of_pieces(run, first))
        first = groups[-1].tokens.stop
    return groups


class RaggedPass(TorchFunctionMode):
    """One forward pass of a model over some pieces: a context, and the cache that the model gets in it.

    In the context, torch.nn.functional.scaled_dot_product_attention attends to the cache of the layer that was last
    updated, for each group of pieces, instead of its own arguments. For models whose layers all use this function with
    the scale as their only modification.

    stored: keys of the cache, one tensor per layer, then its values.
    """

    is_compileable = False

    def __init__(self, stored: Seq[torch.Tensor], pieces: Seq[Piece]) -> None:
        super().__init__()
        layers = len(stored) // 2
        self._keys, self._values = stored[:layers], stored[layers:]
        self._groups = _form_groups(pieces)
        self._layer = -1
        self._attended = 0
        self.tokens = [token for piece in pieces for token in piece.tokens]
        self._rows = torch.tensor([piece.slot for piece in pieces for _ in piece.tokens])
        self.positions = torch.tensor([at for piece in pieces for at in range(piece.start, piece.end)])
        lengths = torch.tensor([len(piece.tokens) for piece in pieces])
        self.ends = lengths.cumsum(0) - 1

    def __torch_function__(
        self, function: Any, _types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        if function is not torch.nn.functional.scaled_dot_product_attention:
            return function(*arguments, **(options or {}))
        self._attended += 1
        scale = (options or {}).get("scale")
        # transformers folds the heads of a single token in another way: the order is the same
        queries = arguments[0].reshape(-1, len(self.tokens), arguments[0].shape[-1])
        keys, values = self._keys[self._layer], self._values[self._layer]
        parts = [group.attend(queries[:, group.tokens], keys, values, scale) for group in self._groups]
        return (parts[0] if len(parts) == 1 else torch.cat(parts, 1))[None]

    def run(self, model: Any, head: torch.nn.Module, linear: Any, embedded: torch.Tensor | None = None) -> torch.Tensor:
        """Return the logits [pieces, vocabulary] after each piece.

        linear: the context that computes the products with the model's matrices.
        embedded: embeddings [tokens, width], if some tokens are positions of media.

        Raises RuntimeError if a layer does not attend as expected.
        """
        tokens = len(self.tokens)
        given = {"input_ids": torch.tensor([self.tokens])} if embedded is None else {"inputs_embeds": embedded[None]}
        unused_mask = torch.ones(1, 1, tokens, tokens, dtype=torch.bool)  # keeps the model from creating one
        with linear, self:
            hidden = model.base_model(
                **given,
                position_ids=self.positions[None],
                attention_mask=unused_mask,
                cache=self,
                use_cache=True,
            ).last_hidden_state[0]
            logits: torch.Tensor = head(hidden[self.ends])
        if self._attended != len(self._keys):
            raise RuntimeError(f"{self._attended} of {len(self._keys)} layers attended to the cache")
        return logits

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_args: object, **_kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Store a layer's new keys and values [1, heads, tokens, head size]; return them, which are not used."""
        self._layer = layer
        self._keys[layer][self._rows, self.positions] = keys[0].transpose(0, 1)
        self._values[layer][self._rows, self.positions] = values[0].transpose(0, 1)
        return keys, values

    def get_seq_length(self, _layer: int = 0) -> int:
        return 0

    def get_query_offset(self, _layer: int = 0) -> int:
        return 0

    def get_mask_sizes(self, query_length: int, _layer: int = 0) -> tuple[int, int]:
        """Return any sizes: they are unused, because every pass brings its own mask."""
        return query_length, 0
