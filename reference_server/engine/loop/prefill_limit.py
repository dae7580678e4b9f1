"""The number of prompt tokens in a pass, so that running sequences wait at most twice as long as usual for a token."""

from __future__ import annotations

from typing import Final

FIRST_TOKENS: Final = 64
"""Tokens of a pass before any time is known."""
LEAST_TOKENS: Final = 16
MORE_TIME: Final = 0.75
"""How much longer a step may take because of a prompt, as a share of its usual time."""
WEIGHT: Final = 0.3
"""Weight of the newest measurement in an average."""


class PrefillLimit:
    """The limit, from the measured time of steps with and without prompt tokens.

    most: limit while no other sequence waits.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._step_s: float | None = None
        self._token_s: float | None = None

    def count_tokens(self, *, running: int, prompts: int) -> int:
        """Return how many prompt tokens the next pass may process.

        With more unfinished prompts than running sequences, the limit is greater in proportion: most clients wait for
        their first token then.

        running: number of sequences that get a token in the same pass.
        """
        if not running:
            return self._most
        tokens = FIRST_TOKENS
        if self._step_s is not None and self._token_s is not None:
            tokens = int(MORE_TIME * self._step_s / self._token_s) if self._token_s > 0 else self._most
        return max(LEAST_TOKENS, min(self._most, int(tokens * max(1.0, prompts / running))))

    def record(self, seconds: float, *, prompt_tokens: int, others: int) -> None:
        """Record the time of a pass. others: number of sequences that got a token and have no prompt in it."""
        if not prompt_tokens:
            self._step_s = _average(self._step_s, seconds)
        elif others and self._step_s is not None:
            self._token_s = _average(self._token_s, max(0.0, seconds - self._step_s) / prompt_tokens)
        elif self._token_s is None:
            self._token_s = max(0.0, seconds - (self._step_s or 0.0)) / prompt_tokens


def _average(average: float | None, value: float) -> float:
    return value if average is None else average + WEIGHT * (value - average)
