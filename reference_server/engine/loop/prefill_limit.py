"""The number of prompt tokens in a pass, so that next to one prompt a token takes at most twice as long as usual."""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import Final

LEAST_TOKENS: Final = 32
"""Also the most while nothing was measured. On two cores they take about as long as a step."""
GROWTH: Final = 2
"""How many times as many tokens a pass may have as the largest one that was measured next to running sequences."""
MORE_TIME: Final = 0.75
"""How much longer a step may take because of a prompt, as a share of its usual time."""
MEASUREMENTS: Final = 7
"""Number of latest passes of each kind whose median counts, so that one pass on a busy machine decides nothing."""


class PrefillLimit:
    """The limit, from the measured time of steps with and without prompt tokens.

    A pass is taken to last as long as a step, which reads the whole model, and longer by a time for each prompt token.

    most: limit while no other sequence waits.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._steps_s: deque[float] = deque(maxlen=MEASUREMENTS)
        self._mixed: deque[tuple[int, float]] = deque(maxlen=MEASUREMENTS)
        """Prompt tokens of a pass that served running sequences too, and its seconds."""
        self._alone_s: float | None = None
        self._largest = LEAST_TOKENS // GROWTH

    def count_tokens(self, *, running: int, prompts: int) -> int:
        """Return how many prompt tokens the next pass may process.

        With several unfinished prompts, the limit is greater in proportion: as many clients wait for their first token.

        running: number of sequences that get a token in the same pass.
        """
        if not running:
            return self._most
        tokens = min(self._affordable_tokens(), GROWTH * self._largest) * max(1, prompts)
        return max(LEAST_TOKENS, min(self._most, int(tokens)))

    def record(self, seconds: float, *, prompt_tokens: int, others: int) -> None:
        """Record the time of a pass. others: number of sequences that got a token and have no prompt in it."""
        if not prompt_tokens:
            self._steps_s.append(seconds)
        elif not others:
            self._alone_s = seconds / prompt_tokens
        else:
            self._mixed.append((prompt_tokens, seconds))
            self._largest = max(self._largest, min(prompt_tokens, GROWTH * self._largest))

    def _affordable_tokens(self) -> float:
        """Return how many tokens fit into the additional time, by what is known of their cost.

        Other work on the machine and kernels that are prepared for a new size only add to a time, so the cost is that
        of the faster passes.
        """
        if not self._steps_s or not (self._mixed or self._alone_s):
            return LEAST_TOKENS
        step_s = median(self._steps_s)
        costs_s = sorted(max(0.0, seconds - step_s) / tokens for tokens, seconds in self._mixed)
        token_s = costs_s[len(costs_s) // 4] if costs_s else self._alone_s
        return MORE_TIME * step_s / token_s if token_s else self._most
