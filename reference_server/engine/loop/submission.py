"""The sequences of one request, and the order in which their deltas are released."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.engine.loop.beam_search import BeamSearch
from reference_server.engine.loop.sequence import Cancellation, SampledSequence, Sequence
from reference_server.engine.sampling.sampler import derive_seed

if TYPE_CHECKING:
    from collections.abc import Sequence as Seq

    from reference_server.engine.protocol import Delta
    from reference_server.engine.text.transcript import AnswerSpec


class Submission:
    """The sequences of one request.

    If all samples are returned, each delta is released when it is created. If only the best are returned, all deltas
    are released with the last token, the best answer's first.

    groups: sequences that must start together; samples are groups of one.
    media: what the media ids of the prompt name; it exists as long as the request.
    """

    def __init__(
        self, prompt: list[int], spec: AnswerSpec, *, seed: int, ready_at: float, media: Seq[object] = ()
    ) -> None:
        self.prompt = prompt
        self.media = media
        self.params = spec.params
        self.cancellation = Cancellation()
        self._ranked = self.params.ranked
        self._buffered: dict[Sequence, list[Delta]] = {}
        self._unfinished = self.params.width
        self._started: set[int] = set()  # choices that have had a delta
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
        """Return the deltas to deliver after a new delta of a sequence."""
        # Every choice reports what the first sequence reused: later ones reuse the computation of their own request.
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
        # As in vLLM (cumulative_logprob), without a correction for length.
        best = sorted(self._samples, key=lambda sample: -sample.logprob)[: self.params.n]
        return [replace(delta, index=rank) for rank, sample in enumerate(best) for delta in self._buffered[sample]]
