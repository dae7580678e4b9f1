"""Prefixes: which tokens the cache rows of the slots hold, so that a prompt need not be computed twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from reference_server.engine.device import torch

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence as Seq

MIN_REUSED_TOKENS = 16
"""A shorter head costs less to compute again than to find and copy."""


class CachedPrefix(NamedTuple):
    """The tokens that a row holds, and whose they are."""

    tokens: torch.Tensor
    salt: str | None


class PrefixCache:
    """The tokens from position 0 on whose keys and values are in the row of each slot, in use or not.

    Only prompts are noted, never what was generated: a decode step rounds otherwise than a prefill does, so an
    answer that was built on it could differ from one without reuse.

    A prompt takes over only what was computed under the same salt, so that nobody learns from `cached_tokens`, or from
    the time that it takes, what others have asked (vllm-0.33#request/cache_salt).
    """

    def __init__(self) -> None:
        self._rows: dict[int, CachedPrefix] = {}  # the slot used last is last

    def find_longest(self, prompt: Seq[int], salt: str | None = None) -> tuple[int, int]:
        """(slot, length) of the longest head of a prompt that some row holds; (-1, 0) where none is worth it.

        The prompt's last token never counts: it has to be computed for what follows it.
        """
        best, length = -1, 0
        if not self._rows or len(prompt) <= MIN_REUSED_TOKENS:
            return best, length
        wanted = torch.tensor(prompt[:-1])
        for slot, (cached, owner) in self._rows.items():
            if owner != salt:
                continue
            most = min(len(cached), len(wanted))
            if most <= length or cached[length] != wanted[length]:
                continue
            differing = (cached[:most] != wanted[:most]).nonzero()
            common = int(differing[0]) if len(differing) else most
            if common > length:
                best, length = slot, common
        return (best, length) if length >= MIN_REUSED_TOKENS else (-1, 0)

    def insert(self, slot: int, tokens: Seq[int], salt: str | None = None) -> None:
        """Note what a row holds now, instead of what it held."""
        self._rows.pop(slot, None)
        if len(tokens) >= MIN_REUSED_TOKENS:
            self._rows[slot] = CachedPrefix(torch.tensor(tokens), salt)

    def invalidate(self, slot: int) -> None:
        """Note that a row holds nothing of use."""
        self._rows.pop(slot, None)

    def touch(self, slot: int) -> None:
        """Note that a row was of use."""
        self._rows[slot] = self._rows.pop(slot)

    def evict(self, slot: int, targets: Iterable[int]) -> tuple[int, int] | None:
        """(place, length): where what a row holds is kept, and how much, now that the row is taken for another prompt.

        That is the place of least use among those given: an empty one, else the one used longest ago. None where
        nothing is worth it: the row holds nothing, or was itself used longest ago.
        """
        if slot not in self._rows:
            return None
        age = {row: at for at, row in enumerate(self._rows)}
        target = min(targets, key=lambda row: (age.get(row, -1), row), default=slot)
        if age.get(target, -1) >= age[slot]:
            return None
        self._rows.pop(target, None)
        self._rows = {target if row == slot else row: tokens for row, tokens in self._rows.items()}
        return target, len(self._rows[target].tokens)
