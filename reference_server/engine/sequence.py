"""Sequence: one request on its way through the engine, the only mutable record of it."""

from __future__ import annotations

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


class Sequence:
    """Prompt and generated tokens of one request, with what is needed to turn a token into a Delta.

    seed: 0 to 2**64 - 1, the request's own or one drawn for it.
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
    ) -> None:
        self.prompt = prompt
        self.params = params
        self.seed = seed
        self.ready_at = ready_at
        self.status = Status.WAITING
        self.slot: int | None = None
        self.cancelled = False
        self.generated: list[int] = []
        self._transcript = Transcript(vocabulary, params, ending)

    @property
    def position(self) -> int:
        """Position of the last token, the one the next decode step reads."""
        return len(self.prompt) + len(self.generated) - 1

    @property
    def last_token(self) -> int:
        return self.generated[-1] if self.generated else self.prompt[-1]

    def append(
        self, token_id: int, score: Score | None, *, batch_size: int, started_at: float, ended_at: float
    ) -> Delta:
        """Take the token that the step from `started_at` to `ended_at` sampled, and say what it added.

        score: of the token, where the parameters ask for log-probabilities.
        """
        self.generated.append(token_id)
        logprob = None if score is None else self._transcript.logprob(token_id, score)
        text, reason = self._transcript.add(token_id)
        delta = Delta(
            text=text,
            token_id=token_id,
            finish_reason=reason,
            batch_size=batch_size,
            queue_wait_s=started_at - self.ready_at,
            step_s=ended_at - started_at,
            logprob=logprob,
        )
        self.ready_at = ended_at
        return delta
