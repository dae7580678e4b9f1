"""Sequences: the mutable state of the tokens that the engine generates."""

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
    """The status of a sequence; it only moves forward."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"


class Cancellation:
    """Whether the cancellation of a request was requested; set at most once, from any thread."""

    def __init__(self) -> None:
        self.requested = False


class Sequence:
    """A prompt and the tokens generated after it, in a slot of its own while it runs.

    prompt, cancellation: shared by all sequences of a request.
    bias: of the request.
    prefilled: number of prompt tokens in the cache.
    cached_tokens: number of prompt tokens that were reused from the prefix cache.
    prefill_started_at: when the prefill of the prompt started, in seconds on the clock of time.perf_counter.
    matcher: the state of its grammar, if there is one.
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
        """Position of the last token, which the next decode step reads."""
        return len(self.prompt) + len(self.generated) - 1

    @property
    def last_token(self) -> int:
        return self.generated[-1] if self.generated else self.prompt[-1]


class SampledSequence(Sequence):
    """One sampled answer. Tokens are appended when they are chosen, and converted to deltas later.

    seed: 0 to 2**64 - 1, of the sequence's own stream of random numbers.
    ready_at: when the next token could be scheduled, in seconds on the clock of time.perf_counter.
    index: index among the sequences of a request.
    top_logprobs: number of alternatives to score with each token; None: no scores.
    logprob: sum over all generated tokens, if they are scored.
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
        self._calls = spec.params.tools is not None  # inside a tool call, an end token may be an ordinary token
        self._transcript = Transcript(spec, index)
        self._prediction = None if spec.predicted is None else PredictionTracker(spec.predicted)

    def append(self, token_id: int) -> bool:
        """Append the token that a step chose; return whether it is certainly the last."""
        self.generated.append(token_id)
        return len(self.generated) >= self._spec.max_tokens or (token_id in self._spec.end_ids and not self._calls)

    def create_delta(self, token_id: int, score: TokenScore | None, step: StepStats) -> Delta:
        """Return the delta of an appended token.

        Call it once per token, in order; any thread may call it.
        """
        if score is not None:
            self.logprob += score.logprob
        complete = False
        if self.matcher is not None:
            self.matcher.consume(token_id)
            complete = self.matcher.complete
            _ = complete or self.matcher.mask  # computed ahead, while the model runs
        delta = self._transcript.create_delta(token_id, score, step, self.ready_at, complete=complete)
        self.ready_at = step.ended_at
        return delta if self._prediction is None else replace(delta, predicted=self._prediction.push(token_id))
