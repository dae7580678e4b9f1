"""Embeddings of media in place of tokens, under token ids of their own.

The ids of the positions of a medium are greater than those of any vocabulary, and follow from its content. So a prompt
stays a list of numbers, and two prompts have a common prefix in the prefix cache only if their media are equal.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from reference_server.engine.device import torch

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence as Seq

    from reference_server.engine.media import Media

FIRST_ID: Final = 1 << 32
OFFSET_BITS: Final = 16
"""A medium has less than 2**16 positions."""
HASH_BITS: Final = 46
KEPT_BYTES: Final = 64 * 1024 * 1024
"""Size of the embeddings that are kept for later prompts: a conversation sends its pictures with each turn."""


def is_media_id(token_id: int) -> bool:
    """Return whether an id stands for a position of a medium."""
    return token_id >= FIRST_ID


def find_first_id(token_id: int) -> int:
    """Return the id of the first position of what a media id names."""
    return FIRST_ID + (((token_id - FIRST_ID) >> OFFSET_BITS) << OFFSET_BITS)


def text_tokens(prompt: Seq[int]) -> Seq[int]:
    """Return the tokens of a prompt without the positions of media."""
    return (
        [token_id for token_id in prompt if not is_media_id(token_id)] if max(prompt, default=0) >= FIRST_ID else prompt
    )


class MediaRows:
    """The embeddings of one medium. ids: of its positions. vectors: [positions, width]. size: in bytes."""

    def __init__(self, first_id: int, vectors: torch.Tensor) -> None:
        self.ids = range(first_id, first_id + len(vectors))
        self.vectors = vectors
        self.size = vectors.nbytes


class MediaPrompt(list[int]):
    """A prompt, and what its media ids name, which exists as long as something refers to it.

    is_whole: whether the prompt cannot be truncated.
    """

    def __init__(self, ids: Seq[int], named: Seq[object], *, is_whole: bool = False) -> None:
        super().__init__(ids)
        self.named = tuple(named)
        self.is_whole = is_whole


class MediaEmbeddings:
    """The embeddings of the media in all prompts that exist and in the latest others, by their ids.

    Threads may share it.

    placeholder_id: the token that the chat template writes for a medium, and that stands for its positions in texts.
    """

    def __init__(self, placeholder_id: int) -> None:
        self.placeholder_id = placeholder_id
        self._key = secrets.token_bytes(32)  # a client cannot create a second file with the ids of another
        self._rows: WeakValueDictionary[int, MediaRows] = WeakValueDictionary()
        self._latest: OrderedDict[int, MediaRows] = OrderedDict()
        self._adding = Lock()

    def add(self, media: Media, encode: Callable[[Media], torch.Tensor]) -> MediaRows:
        """Return the embeddings of a medium, computed only if neither an existing prompt nor a late one has it."""
        number = int.from_bytes(blake2b(media.digest, key=self._key, digest_size=8).digest()) >> (64 - HASH_BITS)
        first_id = FIRST_ID + (number << OFFSET_BITS)
        rows = self._rows.get(first_id)
        if rows is None:
            encoded = MediaRows(first_id, encode(media))
            with self._adding:  # all prompts with a medium share its rows: the rows of a prompt that ends would be lost
                rows = self._rows.setdefault(first_id, encoded)
        self._keep(first_id, rows)
        return rows

    def _keep(self, first_id: int, rows: MediaRows) -> None:
        """Keep the latest embeddings, as many as fit."""
        with self._adding:
            self._latest[first_id] = rows
            self._latest.move_to_end(first_id)
            while sum(kept.size for kept in self._latest.values()) > KEPT_BYTES:
                self._latest.popitem(last=False)

    def contains(self, token_id: int) -> bool:
        """Return whether the embedding of a position exists."""
        rows = self._rows.get(find_first_id(token_id))
        return rows is not None and token_id in rows.ids

    def embed(self, ids: Seq[int], embedding: torch.nn.Module) -> torch.Tensor:
        """Return the embeddings [positions, width] of tokens and of positions of media.

        embedding: the model's layer for tokens.
        """
        tokens = torch.tensor(self.as_tokens(ids), device=next(embedding.parameters()).device)
        embedded: torch.Tensor = embedding(tokens).clone()
        for at, token_id in enumerate(ids):
            if is_media_id(token_id):
                rows = self._rows[find_first_id(token_id)]
                embedded[at] = rows.vectors[token_id - rows.ids.start].to(embedded)
        return embedded

    def as_tokens(self, ids: Seq[int]) -> list[int]:
        """Return the ids with the placeholder for each position of media."""
        return [self.placeholder_id if is_media_id(token_id) else token_id for token_id in ids]

    def expand(self, ids: Seq[int], rows: Seq[MediaRows]) -> MediaPrompt:
        """Return the prompt in which the ids of the media replace the placeholders, in order.

        Raises ValueError if their numbers differ.
        """
        if ids.count(self.placeholder_id) != len(rows):
            raise ValueError(f"the chat template shows {ids.count(self.placeholder_id)} of {len(rows)} media")
        left = iter(rows)
        expanded: list[int] = []
        for token_id in ids:
            expanded += next(left).ids if token_id == self.placeholder_id else (token_id,)
        return MediaPrompt(expanded, rows)
