"""The prefix cache: the prompts in the cache rows of the slots, so that common prefixes are not computed twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from reference_server.engine.device import torch

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence as Seq

MIN_REUSED_TOKENS = 16
"""Computing a shorter prefix again costs less than finding and copying it."""


class CachedPrefix(NamedTuple):
    """The tokens in a row, and the salt of their request."""

    tokens: torch.Tensor
    salt: str | None


class PrefixCache:
    """The tokens, from position 0, whose keys and values are in the row of each slot, free or in use.

    Only prompt tokens are recorded, not generated ones: a decode step rounds differently than a prefill, so an answer
    that reused them could differ from one without reuse.

    A prompt reuses only what was computed with the same salt, so that neither `cached_tokens` nor the response time
    reveals the prompts of others (vllm-0.33#request/cache_salt).
    """

    def __init__(self) -> None:
        self._rows: dict[int, CachedPrefix] = {}  # in order of last use

    def find_longest(self, prompt: Seq[int], salt: str | None = None) -> tuple[int, int]:
        """Return (slot, length) of the longest cached prefix of a prompt; (-1, 0) if it is too short to reuse.

        The last token of the prompt is never reused: it must be computed for the logits after it.
        """
        best, length = -1, 0
        if not self._rows or len(prompt) <= MIN_REUSED_TOKENS:
            return best, length
        wanted = torch.tensor(prompt[:-1])
        for slot, (cached, owner) in self._rows.items():
            if owner != salt:
                continue
            limit = min(len(cached), len(wanted))
            if limit <= length or cached[length] != wanted[length]:
                continue
            differences = (cached[:limit] != wanted[:limit]).nonzero()
            common = int(differences[0]) if len(differences) else limit
            if common > length:
                best, length = slot, common
        return (best, length) if length >= MIN_REUSED_TOKENS else (-1, 0)

    def insert(self, slot: int, tokens: Seq[int], salt: str | None = None) -> None:
        """Record the tokens that a row contains now."""
        self._rows.pop(slot, None)
        if len(tokens) >= MIN_REUSED_TOKENS:
            self._rows[slot] = CachedPrefix(torch.tensor(tokens), salt)

    def invalidate(self, slot: int) -> None:
        """Remove a row."""
        self._rows.pop(slot, None)

    def touch(self, slot: int) -> None:
        """Mark a row as the most recently used."""
        self._rows[slot] = self._rows.pop(slot)

    def evict(self, slot: int, targets: Iterable[int]) -> tuple[int, int] | None:
        """Vacate a row for another prompt; return (target, length) of the row copy that preserves its prefix.

        The target is the least recently used of the given slots, preferably an empty one. Return None if there is
        nothing to preserve: the row is empty, or it is itself the least recently used.
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
