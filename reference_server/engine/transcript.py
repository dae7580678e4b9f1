"""Transcript: the text of one growing answer, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .detokenizer import Detokenizer, StopScanner
from .protocol import FinishReason, TokenLogprob

if TYPE_CHECKING:
    from .params import SamplingParams
    from .scores import Score
    from .vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Ending:
    """When an answer is over: after `limit` tokens (at least 1), or with one of the token ids."""

    limit: int
    token_ids: frozenset[int]


class Transcript:
    """Tokens to text, one at a time, until the answer is over."""

    def __init__(self, vocabulary: Vocabulary, params: SamplingParams, ending: Ending) -> None:
        self._vocabulary = vocabulary
        self._ending = ending
        self._hidden = ending.token_ids | vocabulary.special if params.skip_special_tokens else ending.token_ids
        self._tokens = 0
        self._first = True  # whether no text stands before the next token
        self._detokenizer = Detokenizer(vocabulary.tokenizer, params.skip_special_tokens)
        self._stops = StopScanner(params.stop, params.include_stop_str_in_output)

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
