"""Submission: all sequences of one request, and what their reader gets of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.engine.loop.beam_search import BeamSearch
from reference_server.engine.loop.sequence import Cancellation, SampledSequence, Sequence
from reference_server.engine.sampling.sampler import derive_seed

if TYPE_CHECKING:
    from reference_server.engine.protocol import Delta
    from reference_server.engine.text.transcript import AnswerSpec


class Submission:
    """The sequences of one request.

    Where as many are sampled as are returned, each delta goes to the reader as it comes. Where only the best
    are returned, nobody knows before the end which those are: then the reader gets their deltas, the best
    answer's first, with the last token of all.

    together: groups of sequences that must start at once; samples wait for each other no more than for others.
    """

    def __init__(self, prompt: list[int], spec: AnswerSpec, *, seed: int, ready_at: float) -> None:
        self.prompt = prompt
        self.params = spec.params
        self.cancellation = Cancellation()
        self._ranked = self.params.ranked
        self._buffered: dict[Sequence, list[Delta]] = {}
        self._unfinished = self.params.width
        self._started: set[int] = set()  # choices of which there was a delta
        if self.params.beam_search:
            search = BeamSearch(prompt, spec, self.cancellation, ready_at=ready_at)
            self.groups: tuple[tuple[Sequence, ...], ...] = (search.beams,)
            return
        self._samples = [
            SampledSequence(
                prompt, spec, self.cancellation, seed=derive_seed(seed, index), ready_at=ready_at, index=index
            )
            for index in range(self.params.width)
        ]
        self.groups = tuple((sample,) for sample in self._samples)

    def release(self, sequence: Sequence, delta: Delta) -> list[Delta]:
        """What the reader gets now that a sequence has got a delta."""
        # What a later choice takes over was computed for this request. It counts the prompt once.
        if (cached := self.groups[0][0].cached_tokens) and delta.index not in self._started:
            self._started.add(delta.index)
            delta = replace(delta, cached_tokens=cached)
        if not self._ranked:
            return [delta]
        self._buffered.setdefault(sequence, []).append(delta)
        if delta.finish_reason is not None:
            self._unfinished -= 1
        if self._unfinished:
            return []
        # vLLM ranks by the sum of the log-probabilities too (cumulative_logprob): a longer answer pays for every token.
        best = sorted(self._samples, key=lambda sample: -sample.logprob)[: self.params.n]
        return [replace(delta, index=rank) for rank, sample in enumerate(best) for delta in self._buffered[sample]]
