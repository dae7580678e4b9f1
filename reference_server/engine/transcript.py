"""Transcript: the text of one growing answer, and how it ends."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .detokenizer import Detokenizer, StopScanner
from .protocol import Delta, FinishReason, TokenLogprob

if TYPE_CHECKING:
    from .params import SamplingParams
    from .scores import Score
    from .vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Ending:
    """When an answer is over: after `limit` tokens (at least 1), or with one of the token ids."""

    limit: int
    token_ids: frozenset[int]


@dataclass(frozen=True, slots=True)
class Step:
    """One forward pass and the choice of tokens, for so many sequences; seconds on time.perf_counter's clock."""

    batch_size: int
    started_at: float
    ended_at: float


class Transcript:
    """Tokens to text, one at a time, until the answer is over. index: of the choice."""

    def __init__(self, vocabulary: Vocabulary, params: SamplingParams, ending: Ending, index: int = 0) -> None:
        self._vocabulary = vocabulary
        self._index = index
        self._tells_logprobs = params.logprobs is not None
        self._ending = ending
        self._hidden = ending.token_ids | vocabulary.special if params.skip_special_tokens else ending.token_ids
        self._tokens = 0
        self._first = True  # whether no text stands before the next token
        self._detokenizer = Detokenizer(vocabulary.tokenizer, params.skip_special_tokens)
        self._stops = StopScanner(params.stop, params.include_stop_str_in_output)

    def fork(self) -> Transcript:
        """Another one that begins with the same text."""
        other = copy(self)
        other._detokenizer = self._detokenizer.fork()
        other._stops = copy(self._stops)
        return other

    def delta(self, token_id: int, score: Score | None, step: Step, ready_at: float) -> Delta:
        """What a token adds that a step chose, after it could have been scheduled since `ready_at`."""
        logprob = self.logprob(token_id, score) if score is not None and self._tells_logprobs else None
        text, reason = self.add(token_id)
        return Delta(
            text=text,
            token_id=token_id,
            finish_reason=reason,
            batch_size=step.batch_size,
            queue_wait_s=step.started_at - ready_at,
            step_s=step.ended_at - step.started_at,
            index=self._index,
            logprob=logprob,
        )

    def add(self, token_id: int) -> tuple[str, FinishReason | None]:
        """(text that the token makes certain, why the answer is over with it).

        A token that ends the answer by its id is counted but never shown. Where an end and the limit fall on
        the same token, the end is the reason.
        """
        self._tokens += 1
        if token_id in self._ending.token_ids:
            return self._stops.flush(), "stop"
        self._first = self._first and token_id in self._hidden
        text, stopped = self._stops.push(self._detokenizer.push(token_id))
        if stopped:
            return text, "stop"
        if self._tokens >= self._ending.limit:
            return text + self._stops.flush(), "length"
        return text, None

    def logprob(self, token_id: int, score: Score) -> TokenLogprob:
        """The score of the next token; asked before it is added."""
        top = tuple(self._named(*alternative) for alternative in score.top)
        return self._named(token_id, score.logprob, top)

    def _named(self, token_id: int, logprob: float, top: tuple[TokenLogprob, ...] = ()) -> TokenLogprob:
        data = self._vocabulary.data(token_id, first=self._first)
        return TokenLogprob(data.decode(errors="replace"), None if token_id in self._hidden else data, logprob, top)
