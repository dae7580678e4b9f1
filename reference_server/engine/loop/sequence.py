"""Sequence: tokens on their way through the engine, the only mutable record of them."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

from reference_server.engine.text.predicted_output import PredictionTracker
from reference_server.engine.text.transcript import Transcript

if TYPE_CHECKING:
    from reference_server.engine.params import SamplingParams
    from reference_server.engine.protocol import Delta
    from reference_server.engine.sampling.bias import Bias
    from reference_server.engine.sampling.scores import TokenScore
    from reference_server.engine.text.transcript import AnswerSpec, StepStats
    from reference_server.engine.tools.grammar import Matcher


class SequenceStatus(Enum):
    """Where a sequence is: it only ever moves forward."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"


class Cancellation:
    """Whether somebody has asked to give a request up; it only ever changes once, from any thread."""

    def __init__(self) -> None:
        self.requested = False


class Sequence:
    """A prompt and the tokens that follow it, in a slot of its own while it runs.

    prompt, cancellation: the same ones for all sequences of a request. bias: as its terms have it.
    prefilled: how many tokens of the prompt the cache holds. cached: how many of them it held before.
    began_at: when the prefill of the prompt began, on the clock of time.perf_counter, in seconds.
    matcher: where its answer stands in its grammar, if there is one.
    """

    def __init__(
        self, prompt: list[int], params: SamplingParams, cancellation: Cancellation, bias: Bias | None = None
    ) -> None:
        self.prompt = prompt
        self.params = params
        self.bias = bias
        self.matcher: Matcher | None = None
        self.cancellation = cancellation
        self.status = SequenceStatus.WAITING
        self.slot: int | None = None
        self.prefilled = 0
        self.cached_tokens = 0
        self.prefill_started_at: float | None = None
        self.generated: list[int] = []

    @property
    def position(self) -> int:
        """Position of the last token, the one the next decode step reads."""
        return len(self.prompt) + len(self.generated) - 1

    @property
    def last_token(self) -> int:
        return self.generated[-1] if self.generated else self.prompt[-1]


class SampledSequence(Sequence):
    """One answer that grows token by token: each is taken first, and told later.

    seed: 0 to 2**64 - 1, of this sequence's own stream of random numbers.
    ready_at: when the next token could be scheduled, on the clock of time.perf_counter, in seconds.
    index: place among the sequences of a request.
    top: how many alternatives its tokens are scored with; None: they are not scored.
    logprob: of all generated tokens together, where they are scored.
    """

    def __init__(
        self,
        prompt: list[int],
        spec: AnswerSpec,
        cancellation: Cancellation,
        *,
        seed: int,
        ready_at: float,
        index: int = 0,
    ) -> None:
        super().__init__(prompt, spec.params, cancellation, spec.bias)
        self.seed = seed
        self.ready_at = ready_at
        self.top_logprobs = 0 if spec.params.logprobs is None and spec.params.ranked else spec.params.logprobs
        self.logprob = 0.0
        self.matcher = None if spec.matcher is None else spec.matcher.fork()
        self._spec = spec
        self._calls = spec.params.tools is not None  # within a call, what ends an answer may be a token like any other
        self._transcript = Transcript(spec, index)
        self._prediction = None if spec.predicted is None else PredictionTracker(spec.predicted)

    def append(self, token_id: int) -> bool:
        """Take the token that a step chose; whether it is certain already that nothing may follow."""
        self.generated.append(token_id)
        return len(self.generated) >= self._spec.max_tokens or (token_id in self._spec.end_ids and not self._calls)

    def create_delta(self, token_id: int, score: TokenScore | None, step: StepStats) -> Delta:
        """What the next of the tokens that were taken adds. Of each once, in order; in whatever thread."""
        if score is not None:
            self.logprob += score.logprob
        complete = False
        if self.matcher is not None:
            self.matcher.consume(token_id)
            complete = self.matcher.complete
            _ = complete or self.matcher.mask  # worked out now, while nobody waits for it
        delta = self._transcript.create_delta(token_id, score, step, self.ready_at, complete=complete)
        self.ready_at = step.ended_at
        return delta if self._prediction is None else replace(delta, predicted=self._prediction.push(token_id))
