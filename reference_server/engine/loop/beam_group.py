"""BeamGroup: the beams of a search that compete with one another, without rows, slots or texts to be read."""

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

# No finite parameter may overflow: beyond these a penalty decides everything already.
MAX_EXPONENT = 50.0
MAX_PENALTY = 1e30


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A beginning of an answer.

    total: the sum of the log-probabilities of its tokens, less what diversity has cost it.
    scores: of each token, where they are asked for.
    parent: place of the hypothesis that it continues, among those that were running.
    transcript: its text, where texts can end it.
    stopped: whether a stop text or a repetition ended it.
    """

    tokens: tuple[int, ...]
    total: float
    scores: tuple[TokenScore, ...]
    parent: int
    transcript: Transcript | None
    stopped: bool = False
    matcher: Matcher | None = None

    def extend(self, parent: int, token: int, total: float, scorer: Scorer | None) -> Hypothesis:
        """This one, with one more token."""
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
    """Beam search as transformers does it (`num_beams`, `length_penalty`, `early_stopping=False`).

    At each step the `size` best continuations of all running hypotheses are looked at: those that end are
    finished, scored total / length ** length_penalty, and the best `size` of them are kept; the best `size`
    that do not end go on. The search is over when `size` are finished and the best that goes on, scored at its
    present length, is no better than the worst of them; or at the limit, where the best all count as finished.

    running: best first. finished: (score, hypothesis), best first. over: nothing more will change.
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
        """One step further.

        logprobs: [running, vocabulary], float64, in the order of `running`, as the scorer's rows are.
        others: the tokens with which other groups go on in this step; each costs a continuation with the same
        token the diversity penalty, once for every time.
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
        """Whether the finished ones are as good as those that go on can be expected to become."""
        attainable = self.running[0].total / length**self._exponent
        return len(self.finished) == self._size and attainable <= self.finished[-1][0]

    def _is_ended(self, hypothesis: Hypothesis) -> bool:
        return hypothesis.stopped or hypothesis.tokens[-1] in self._end_ids

    def _select_running(self, totals: torch.Tensor, scorer: Scorer | None) -> list[Hypothesis]:
        """The best continuations that do not end; stop texts may end more of them than were looked at."""
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
        """The best continuations, best first; impossible ones are none."""
        best = totals.flatten().topk(min(count, totals.numel()))
        for total, at in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            if total > -torch.inf:
                parent, token = divmod(at, totals.shape[1])
                yield self.running[parent].extend(parent, token, total, scorer)
