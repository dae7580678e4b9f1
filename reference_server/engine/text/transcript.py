"""The text of one growing answer, and the conditions that end it."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from reference_server.engine.detokenizer import Detokenizer
from reference_server.engine.protocol import Delta, FinishReason, TokenLogprob
from reference_server.engine.repetition import RepetitionDetector
from reference_server.engine.text.reasoning import ReasoningSplitter
from reference_server.engine.text.stop_scanner import StopScanner
from reference_server.engine.tools.tool_parser import CallParser

if TYPE_CHECKING:
    from reference_server.engine.params import SamplingParams
    from reference_server.engine.sampling.bias import Bias
    from reference_server.engine.sampling.scores import TokenScore
    from reference_server.engine.tool_use import CallPiece
    from reference_server.engine.tools.grammar import Matcher
    from reference_server.engine.tools.tool_format import ToolFormat
    from reference_server.engine.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class AnswerSpec:
    """What all answers of a request have in common.

    max_tokens: maximum length of an answer, at least 1.
    end_ids: token ids that end an answer.
    thinking: whether the prompt ends inside reasoning.
    bias: None if no logits are changed.
    matcher: at the start of the grammar of the answers, if there is one.
    tool_format: the format in which the model writes calls; None if unknown.
    predicted: tokens of the predicted output, if given.
    """

    vocabulary: Vocabulary
    params: SamplingParams
    max_tokens: int
    end_ids: frozenset[int]
    thinking: bool = False
    bias: Bias | None = None
    matcher: Matcher | None = None
    tool_format: ToolFormat | None = None
    predicted: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class StepStats:
    """Measurements of one forward pass and its sampling; in seconds on the clock of time.perf_counter.

    batch_size: number of sequences.
    """

    batch_size: int
    started_at: float
    ended_at: float


class Addition(NamedTuple):  # created for every token, and cheaper than a dataclass
    """What a token adds to an answer for certain: text, reasoning and calls, and the reason if it ends the answer."""

    text: str
    reasoning: str
    finish_reason: FinishReason | None
    stop_reason: str | int | None = None
    calls: tuple[CallPiece, ...] = ()


class Transcript:
    """Converter of the tokens of one answer to text and calls, until the answer ends. index: of the choice."""

    def __init__(self, spec: AnswerSpec, index: int = 0) -> None:
        params, vocabulary = spec.params, spec.vocabulary
        self._spec = spec
        self._index = index
        self._with_logprobs = params.logprobs is not None
        self._hidden_ids = spec.end_ids | vocabulary.special if params.skip_special_tokens else spec.end_ids
        self._tokens = 0
        self._spaced = params.skip_special_tokens or params.spaces_between_special_tokens
        self._after_special = False
        self._repetition = RepetitionDetector(params.repetition) if params.repetition is not None else None
        self._first = True  # whether no text precedes the next token
        self._detokenizer = Detokenizer(vocabulary.tokenizer, params.skip_special_tokens, vocabulary.context_free_text)
        # The text of the first min_tokens tokens is not searched for stop strings.
        self._stop_scan_start = params.min_tokens + 1
        self._stops = StopScanner(() if params.min_tokens else params.stop, params.include_stop_str_in_output)
        self._reasoning_stops = copy(self._stops)
        self._splitter: ReasoningSplitter | None = None
        self._markers: dict[int, str] = {}  # token id -> marker that is left out of the text
        self._calls: CallParser | None = None
        if params.reasoning:
            self._splitter = ReasoningSplitter(*vocabulary.reasoning_markers, opened=spec.thinking)
            ids = {vocabulary.tokenizer.token_to_id(marker): marker for marker in vocabulary.reasoning_markers}
            self._markers = {
                token_id: marker
                for token_id, marker in ids.items()
                if token_id is not None and token_id in self._hidden_ids
            }
        if params.tools is not None and params.tools.tools and spec.tool_format is not None:
            self._calls = CallParser(spec.tool_format, params.tools)
            texts = {
                token_id: vocabulary.token_bytes(token_id, first=False).decode()
                for token_id in vocabulary.special & self._hidden_ids
            }
            self._markers |= {token_id: text for token_id, text in texts.items() if text in spec.tool_format.fixed_text}

    def fork(self) -> Transcript:
        """Return an independent copy."""
        other = copy(self)
        other._detokenizer = self._detokenizer.fork()
        other._stops = copy(self._stops)
        other._reasoning_stops = copy(self._reasoning_stops)
        other._splitter = copy(self._splitter)
        other._repetition = self._repetition and self._repetition.fork()
        other._calls = None if self._calls is None else self._calls.fork()
        return other

    def create_delta(
        self, token_id: int, score: TokenScore | None, step: StepStats, ready_at: float, *, complete: bool = False
    ) -> Delta:
        """Return the delta of a token that a step chose.

        ready_at: when the token could be scheduled.
        complete: whether the grammar allows nothing after it.
        """
        logprob = self.create_logprob(token_id, score) if score is not None and self._with_logprobs else None
        text, reasoning, finish_reason, stop_reason, calls = self.add(token_id, complete=complete)
        return Delta(
            text=text,
            token_id=token_id,
            finish_reason=finish_reason,
            batch_size=step.batch_size,
            queue_wait_s=step.started_at - ready_at,
            step_s=step.ended_at - step.started_at,
            index=self._index,
            logprob=logprob,
            reasoning=reasoning,
            stop_reason=stop_reason,
            calls=calls,
        )

    def add(self, token_id: int, *, complete: bool = False) -> Addition:
        """Add a token.

        A token that ends the answer by its id is counted but never shown. If the same token is an end and reaches
        max_tokens, the finish reason is the end. Inside a tool call, stop tokens of the request are ordinary tokens.
        """
        self._tokens += 1
        if token_id in self._spec.end_ids and not (self._calls is not None and self._calls.in_call):
            return self._finish("", "", "stop")._replace(stop_reason=self._stop_token(token_id))
        if self._tokens == self._stop_scan_start > 1:
            self._stops = StopScanner(self._spec.params.stop, self._spec.params.include_stop_str_in_output)
            self._reasoning_stops = copy(self._stops)
        self._first = self._first and token_id in self._hidden_ids
        piece = self._detokenizer.push(token_id)
        if not self._spaced:
            special = token_id in self._spec.vocabulary.special
            if special and self._after_special:
                piece = piece.removeprefix(" ")
            self._after_special = special
        if self._markers:
            piece += self._markers.get(token_id, "")
        calls: tuple[CallPiece, ...] = ()
        if self._splitter is None:
            reasoning = ""
            if self._calls is not None:
                piece, calls = self._calls.push(piece)
            text, stopped = self._stops.push(piece)
        else:
            reasoning, text, stopped, calls = self._scan(self._splitter, *self._splitter.push(piece))
        if stopped:
            return Addition(text, reasoning, "stop", self._stop_text, calls)
        if complete or self._tokens >= self._spec.max_tokens:
            return self._finish(reasoning, text, "stop" if complete else "length", calls)
        if (
            self._repetition is not None
            and self._repetition.push(token_id)
            and self._tokens > self._spec.params.min_tokens
        ):
            return self._finish(reasoning, text, "repetition", calls)
        return Addition(text, reasoning, None, None, calls)

    def _stop_token(self, token_id: int) -> int | None:
        """Return the token if the request listed it as a stop token; the model's own end tokens have no stop reason."""
        return token_id if token_id in self._spec.params.stop_token_ids else None

    @property
    def _stop_text(self) -> str | None:
        return self._stops.matched if self._stops.matched is not None else self._reasoning_stops.matched

    def create_logprob(self, token_id: int, score: TokenScore) -> TokenLogprob:
        """Return the log-probability of the next token; call it before the token is added."""
        decode_token, first, hidden = self._spec.vocabulary.decode_token, self._first, self._hidden_ids
        alternatives: list[TokenLogprob] = []
        for alternative, logprob in score.top:
            text, data = decode_token(alternative, first=first)
            alternatives.append(TokenLogprob(text, None if alternative in hidden else data, logprob, (), alternative))
        text, data = decode_token(token_id, first=first)
        return TokenLogprob(text, None if token_id in hidden else data, score.logprob, tuple(alternatives), token_id)

    def _scan(
        self, splitter: ReasoningSplitter, new_reasoning: str, answer: str
    ) -> tuple[str, str, bool, tuple[CallPiece, ...]]:
        """Return (reasoning, answer) up to a possible stop string, whether a stop string was found, and calls."""
        reasoning, stopped = self._reasoning_stops.push(new_reasoning)
        if stopped:
            return reasoning, "", True, ()
        if not splitter.thinking:
            reasoning += self._reasoning_stops.flush()
        calls: tuple[CallPiece, ...] = ()
        if self._calls is not None:
            answer, calls = self._calls.push(answer)
        return (reasoning, *self._stops.push(answer), calls)

    def _finish(self, reasoning: str, text: str, reason: FinishReason, calls: tuple[CallPiece, ...] = ()) -> Addition:
        """Return the last addition, with all text that was held back."""
        if self._splitter is not None:
            new_reasoning, answer, stopped, more_calls = self._scan(self._splitter, *self._splitter.flush())
            reasoning, text, calls = (
                reasoning + new_reasoning + self._reasoning_stops.flush(),
                text + answer,
                calls + more_calls,
            )
            if stopped:
                return Addition(text, reasoning, "stop", self._stop_text, calls)
        if self._calls is not None:
            released, stopped = self._stops.push(self._calls.flush(cut=reason != "stop"))
            text += released
            if self._calls.started == self._calls.completed > 0 and reason == "stop":
                reason = "tool_calls"
            elif stopped:
                return Addition(text, reasoning, "stop", self._stop_text, calls)
        return Addition(text + self._stops.flush(), reasoning, reason, None, calls)
