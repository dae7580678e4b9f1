"""Submission: all sequences of one request, and what their reader gets of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .sampler import stream_seed
from .sequence import Sequence

if TYPE_CHECKING:
    from .params import SamplingParams
    from .protocol import Delta
    from .transcript import Ending
    from .vocabulary import Vocabulary


class Submission:
    """The sequences of one request.

    Where as many are generated as are returned, each delta goes to the reader as it comes. Where only the best
    are returned, nobody knows before the end which those are: then the reader gets their deltas, the best
    answer's first, with the last token of all.
    """

    def __init__(
        self,
        prompt: list[int],
        params: SamplingParams,
        *,
        seed: int,
        vocabulary: Vocabulary,
        ending: Ending,
        ready_at: float,
    ) -> None:
        self.prompt = prompt
        self.params = params
        self.sequences = tuple(
            Sequence(
                prompt,
                params,
                seed=stream_seed(seed, choice),
                vocabulary=vocabulary,
                ending=ending,
                ready_at=ready_at,
                choice=choice,
            )
            for choice in range(params.width)
        )
        self._held: dict[Sequence, list[Delta]] | None = None
        if params.ranked:
            self._held = {sequence: [] for sequence in self.sequences}
        self._unfinished = params.width

    def cancel(self) -> None:
        """Have its sequences dropped before the next step; from any thread."""
        for sequence in self.sequences:
            sequence.cancelled = True

    def release(self, sequence: Sequence, delta: Delta) -> list[Delta]:
        """What the reader gets now that a sequence has got a delta."""
        if self._held is None:
            return [delta]
        self._held[sequence].append(delta)
        if delta.finish_reason is not None:
            self._unfinished -= 1
        if self._unfinished:
            return []
        # vLLM ranks by the sum of the log-probabilities too (cumulative_logprob): a longer answer pays for every token.
        best = sorted(self._held, key=lambda each: -each.logprob)[: self.params.n]
        return [replace(held, index=rank) for rank, each in enumerate(best) for held in self._held[each]]
