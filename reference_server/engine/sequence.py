"""Sequence: one answer on its way through the engine, the only mutable record of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from .protocol import Delta
from .transcript import Transcript

if TYPE_CHECKING:
    from .params import SamplingParams
    from .scores import Score
    from .transcript import Ending
    from .vocabulary import Vocabulary


class Status(Enum):
    """Where a sequence is: it only ever moves forward."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Step:
    """One forward pass and the choice of tokens, for so many sequences; seconds on time.perf_counter's clock."""

    batch_size: int
    started_at: float
    ended_at: float


class Sequence:
    """Prompt and generated tokens of one answer, with what is needed to turn a token into a Delta.

    prompt: the same list for all sequences of a request.
    seed: 0 to 2**64 - 1, of this sequence's own stream of random numbers.
    choice: place among the sequences of a request.
    top: how many alternatives its tokens are scored with; None: they are not scored.
    ready_at: when the next token could be scheduled, on the clock of time.perf_counter, in seconds.
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
        choice: int = 0,
    ) -> None:
        self.prompt = prompt
        self.params = params
        self.seed = seed
        self.choice = choice
        self.top = 0 if params.logprobs is None and params.ranked else params.logprobs
        self.ready_at = ready_at
        self.status = Status.WAITING
        self.slot: int | None = None
        self.cancelled = False
        self.generated: list[int] = []
        self.logprob = 0.0  # of all generated tokens together, where they are scored
        self._transcript = Transcript(vocabulary, params, ending)

    @property
    def position(self) -> int:
        """Position of the last token, the one the next decode step reads."""
        return len(self.prompt) + len(self.generated) - 1

    @property
    def last_token(self) -> int:
        return self.generated[-1] if self.generated else self.prompt[-1]

    def append(self, token_id: int, score: Score | None, step: Step) -> Delta:
        """Take the token that a step chose, and say what it added."""
        self.generated.append(token_id)
        logprob = None
        if score is not None:
            self.logprob += score.logprob
            if self.params.logprobs is not None:
                logprob = self._transcript.logprob(token_id, score)
        text, reason = self._transcript.add(token_id)
        delta = Delta(
            text=text,
            token_id=token_id,
            finish_reason=reason,
            batch_size=step.batch_size,
            queue_wait_s=step.started_at - self.ready_at,
            step_s=step.ended_at - step.started_at,
            index=self.choice,
            logprob=logprob,
        )
        self.ready_at = step.ended_at
        return delta
