"""Sequence: one request on its way through the engine, the only mutable record of it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from .detokenizer import Detokenizer, StopScanner
from .protocol import Delta, FinishReason

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from .params import SamplingParams


class Status(Enum):
    """Where a sequence is: it only ever moves forward."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"


class Sequence:
    """Prompt and generated tokens of one request, with what is needed to turn a token into a Delta.

    seed: 0 to 2**64 - 1, the request's own or one drawn for it.
    limit: the most tokens that may be generated, at least 1.
    eos_token_ids: the model's own end-of-sequence tokens.
    ready_at: when the next token could be scheduled, on the clock of time.perf_counter, in seconds.
    """

    def __init__(
        self,
        prompt: list[int],
        params: SamplingParams,
        *,
        seed: int,
        limit: int,
        eos_token_ids: frozenset[int],
        tokenizer: Tokenizer,
        ready_at: float,
    ) -> None:
        self.prompt = prompt
        self.params = params
        self.seed = seed
        self.limit = limit
        self.ready_at = ready_at
        self.status = Status.WAITING
        self.slot: int | None = None
        self.cancelled = False
        self.generated: list[int] = []
        self._ends = params.stop_token_ids if params.ignore_eos else params.stop_token_ids | eos_token_ids
        self._detokenizer = Detokenizer(tokenizer, params.skip_special_tokens)
        self._stops = StopScanner(params.stop, params.include_stop_str_in_output)

    @property
    def position(self) -> int:
        """Position of the last token, the one the next decode step reads."""
        return len(self.prompt) + len(self.generated) - 1

    @property
    def last_token(self) -> int:
        return self.generated[-1] if self.generated else self.prompt[-1]

    def append(self, token_id: int, *, batch_size: int, started_at: float, ended_at: float) -> Delta:
        """Take the token that the step from `started_at` to `ended_at` sampled, and say what it added.

        A token that ends the sequence by its id is counted but never shown. Where an end and the limit fall
        on the same token, the end is the reason.
        """
        self.generated.append(token_id)
        text, reason = self._show(token_id)
        delta = Delta(
            text=text,
            token_id=token_id,
            finish_reason=reason,
            batch_size=batch_size,
            queue_wait_s=started_at - self.ready_at,
            step_s=ended_at - started_at,
        )
        self.ready_at = ended_at
        return delta

    def _show(self, token_id: int) -> tuple[str, FinishReason | None]:
        if token_id in self._ends:
            return self._stops.flush(), "stop"
        text, stopped = self._stops.push(self._detokenizer.push(token_id))
        if stopped:
            return text, "stop"
        if len(self.generated) >= self.limit:
            return text + self._stops.flush(), "length"
        return text, None
