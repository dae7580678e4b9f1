"""The number of prompt tokens in a pass, so that running sequences wait at most twice as long as usual for a token."""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import Final

FIRST_TOKENS: Final = 32
"""Most tokens of the first pass that also serves running sequences."""
LEAST_TOKENS: Final = 16
GROWTH: Final = 2
"""How many times as many tokens a pass may have as the largest one that was measured next to running sequences."""
MORE_TIME: Final = 0.75
"""How much longer a step may take because of a prompt, as a share of its usual time."""
MEASUREMENTS: Final = 7
"""Number of latest passes of each kind whose median counts, so that one pass on a busy machine decides nothing."""


class PrefillLimit:
    """The limit, from the measured time of steps with and without prompt tokens.

    most: limit while no other sequence waits.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._largest = FIRST_TOKENS // GROWTH
        self._steps_s: deque[float] = deque(maxlen=MEASUREMENTS)
        self._alone_s: float | None = None
        self._tokens_s: deque[float] = deque(maxlen=MEASUREMENTS)

    def count_tokens(self, *, running: int, prompts: int) -> int:
        """Return how many prompt tokens the next pass may process.

        With more unfinished prompts than running sequences, the limit is greater in proportion: most clients wait for
        their first token then.

        running: number of sequences that get a token in the same pass.
        """
        if not running:
            return self._most
        tokens = min(self._affordable_tokens(), GROWTH * self._largest)
        return max(LEAST_TOKENS, min(self._most, int(tokens * max(1.0, prompts / running))))

    def record(self, seconds: float, *, prompt_tokens: int, others: int) -> None:
        """Record the time of a pass. others: number of sequences that got a token and have no prompt in it."""
        if not prompt_tokens:
            self._steps_s.append(seconds)
        elif not others:
            self._alone_s = seconds / prompt_tokens
        elif self._steps_s:
            self._tokens_s.append(max(0.0, seconds - median(self._steps_s)) / prompt_tokens)
            self._largest = max(self._largest, min(prompt_tokens, GROWTH * self._largest))

    def _affordable_tokens(self) -> int:
        """Return how many tokens fit into the additional time, by what is known of their cost."""
        token_s = median(self._tokens_s) if self._tokens_s else self._alone_s
        if token_s is None or not self._steps_s:
            return FIRST_TOKENS
        return int(MORE_TIME * median(self._steps_s) / token_s) if token_s > 0 else self._most
