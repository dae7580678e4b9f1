"""Pieces of prompts as one rectangle."""

from __future__ import annotations

from typing import NamedTuple


class PaddedBatch(NamedTuple):
    """Pieces of prompts with padding.

    rows: of the batch. length: tokens of each. read: positions of the cache to attend to. ends: tokens with logits.
    numbers: first position and slot of each row, indices of the tokens with logits, and the ids of all tokens.
    """

    rows: int
    length: int
    read: int
    ends: int
    numbers: list[int]
