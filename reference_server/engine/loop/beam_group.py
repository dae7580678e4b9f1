"""A group of beams that compete with one another, independent of cache rows and slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reference_server.engine.device import torch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as Seq

    from reference_server.engine.sampling.scores import Scorer, TokenScore
    from reference_server.engine.text.transcript import AnswerSpec, Transcript
    from reference_server.engine.tools.grammar import Matcher

# Limits against overflow; at these values the penalty alone already decides the order.
MAX_EXPONENT = 50.0
MAX_PENALTY = 1e30


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """The beginning of an answer.

    total: sum of the log-probabilities of its tokens, minus the diversity penalties.
    scores: score of each token, if requested.
    parent: index of the running hypothesis that it extends.
    transcript: its text, if text can end it.
    stopped: whether a stop string, a repetition or the end of the grammar ended it.
    """

    tokens: tuple[int, ...]
    total: float
    scores: tuple[TokenScore, ...]
    parent: int
    transcript: Transcript | None
    stopped: bool = False
    matcher: Matcher | None = None

    def extend(self, parent: int, token: int, total: float, scorer: Scorer | None) -> Hypothesis:
        """Return a hypothesis with one more token."""
        transcript = self.transcript
        stopped = False
        if transcript is not None:
            transcript = transcript.fork()
            stopped = transcript.add(token).finish_reason not in (None, "length")
        matcher = self.matcher
        if matcher is not None:
            matcher = matcher.fork()
            matcher.consume(token)
            stopped = stopped or matcher.complete
        scores = () if scorer is None else (*self.scores, scorer.score(parent, token))
        return Hypothesis((*self.tokens, token), total, scores, parent, transcript, stopped, matcher)


class BeamGroup:
    """Beam search as in transformers (`num_beams`, `length_penalty`, `early_stopping=False`).

    Each step examines the `size` best continuations of all running hypotheses. Those that end are finished with the
    score total / length ** length_penalty, and the best `size` finished ones are kept; the best `size` continuations
    that do not end keep running. The search is done when `size` are finished and the best running one, scored at its
    present length, is not better than the worst of them; or at the maximum length, where the best continuations all
    count as finished.

    running: best first.
    finished: (score, hypothesis), best first.
    done: whether further steps cannot change the result.
    """

    def __init__(self, size: int, spec: AnswerSpec, transcript: Transcript | None) -> None:
        self._size = size
        self._limit = spec.max_tokens
        self._end_ids = spec.end_ids
        self._exponent = max(-MAX_EXPONENT, min(spec.params.length_penalty, MAX_EXPONENT))
        self._diversity = max(-MAX_PENALTY, min(spec.params.diversity_penalty, MAX_PENALTY))
        self.running = [Hypothesis((), 0.0, (), 0, transcript, matcher=spec.matcher)]
        self.finished: list[tuple[float, Hypothesis]] = []
        self.done = False

    def advance(self, logprobs: torch.Tensor, others: Seq[int], scorer: Scorer | None) -> None:
        """Take one step.

        logprobs: float64 [running, vocabulary], in the order of `running`, like the rows of the scorer.
        others: tokens that other groups continue with in this step; each occurrence subtracts the diversity penalty
            from a continuation with the same token.
        """
        totals = (
            logprobs + torch.tensor([hypothesis.total for hypothesis in self.running], dtype=torch.float64)[:, None]
        )
        if others:
            cost = torch.bincount(torch.tensor(others), minlength=totals.shape[1]).double() * self._diversity
            totals = totals - cost
        length = len(self.running[0].tokens) + 1
        best = list(self._continuations(totals, self._size, scorer))
        ended = best if length == self._limit else [hypothesis for hypothesis in best if self._is_ended(hypothesis)]
        scored = [(hypothesis.total / length**self._exponent, hypothesis) for hypothesis in ended]
        self.finished = sorted([*self.finished, *scored], key=lambda item: -item[0])[: self._size]
        self.running = self._select_running(totals, scorer)
        self.done = length == self._limit or not self.running or self._is_decided(length)

    def _is_decided(self, length: int) -> bool:
        """Return whether the running hypotheses cannot be expected to beat the finished ones."""
        attainable = self.running[0].total / length**self._exponent
        return len(self.finished) == self._size and attainable <= self.finished[-1][0]

    def _is_ended(self, hypothesis: Hypothesis) -> bool:
        return hypothesis.stopped or hypothesis.tokens[-1] in self._end_ids

    def _select_running(self, totals: torch.Tensor, scorer: Scorer | None) -> list[Hypothesis]:
        """Return the best continuations that do not end.

        More than `size` may have to be examined, because stop strings end some of them.
        """
        ends = [token for token in self._end_ids if 0 <= token < totals.shape[1]]
        totals = totals.index_fill(1, torch.tensor(ends, dtype=torch.long), -torch.inf)
        count = self._size
        while True:
            going = [
                continuation for continuation in self._continuations(totals, count, scorer) if not continuation.stopped
            ]
            if len(going) >= self._size or count >= totals.numel():
                return going[: self._size]
            count *= 2

    def _continuations(self, totals: torch.Tensor, count: int, scorer: Scorer | None) -> Iterator[Hypothesis]:
        """Yield the best possible continuations, best first."""
        best = totals.flatten().topk(min(count, totals.numel()))
        for total, at in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            if total > -torch.inf:
                parent, token = divmod(at, totals.shape[1])
                yield self.running[parent].extend(parent, token, total, scorer)
