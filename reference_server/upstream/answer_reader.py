"""Conversion of an upstream's answer, as chunks or as a whole, to deltas.

Upstreams differ: some send a role with every delta and some with none; usage comes with the last chunk, with each, or
after all; some mark the end with `[DONE]` and some do not. The reader relies only on what they have in common.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from reference_server.engine import CallPiece, Delta
from reference_server.engine.text.stop_scanner import StopScanner
from reference_server.upstream.answer_fields import (
    is_count,
    read_finish_reason,
    read_logprobs,
    read_prompt_tokens,
    read_stop_reason,
    read_text,
    split_by_token,
)
from reference_server.upstream.client.connection import BrokenAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reference_server.upstream.request_translation import Json, UpstreamRequest


@dataclass(slots=True)
class _Choice:
    """State of one choice.

    last_chunk_at: time of the last chunk.
    scanner: finds stop strings, if the gateway cuts the text at them.
    counted: number of its tokens so far, as the upstream reports it.
    sent: number of tokens in the deltas sent.
    begun: whether any chunk has arrived. The first chunk of many upstreams has only the role.
    chunks: number of chunks without that first one.
    calls: index of each tool call at the upstream -> index in the deltas.
    """

    index: int
    last_chunk_at: float
    scanner: StopScanner | None
    finished: bool = False
    counted: int | None = None
    sent: int = 0
    begun: bool = False
    chunks: int = 0
    calls: dict[int, int] = field(default_factory=dict)


class AnswerReader:
    """Reads one upstream's answer.

    `read_chunk` and `read_answer` yield deltas; `end` yields the delta that had to wait for the number of all tokens.

    prompt_tokens: number of prompt tokens; None until the upstream reports it.
    cut: whether the text was cut at a stop string, so that the rest of the answer does not matter.
    """

    def __init__(self, request: UpstreamRequest, started_at: float) -> None:
        self.prompt_tokens: int | None = None
        self.cut = False
        self._cached: int | None = None
        self._params = request.params
        stops = (request.params.stop, request.params.include_stop_str_in_output)
        self._choices = [
            _Choice(index, started_at, StopScanner(*stops) if request.cut else None)
            for index in range(request.params.n)
        ]
        self._completion_tokens: int | None = None
        self._last: Delta | None = None  # waits for the number of all tokens

    @property
    def finished(self) -> bool:
        """Whether every choice is complete."""
        return all(choice.finished for choice in self._choices)

    def read_chunk(self, chunk: Json, at: float) -> Iterator[Delta]:
        """Yield the deltas of a chunk that arrived at a time; raise BrokenAnswer for an invalid chunk."""
        usage = chunk.get("usage")
        choices = chunk.get("choices")
        choices = choices if isinstance(choices, list) else []
        if isinstance(usage, dict):
            self._read_usage(usage, choices)
        for row in choices:
            if isinstance(row, dict):
                yield from self._read_choice(row, row.get("delta"), at)

    def read_answer(self, answer: Json, at: float) -> Iterator[Delta]:
        """Yield the deltas of an answer that is not a stream."""
        usage, choices = answer.get("usage"), answer.get("choices")
        if isinstance(usage, dict):
            self._read_usage(usage, [])
        for row in choices if isinstance(choices, list) else []:
            if isinstance(row, dict):
                yield from self._read_choice(row, row.get("message"), at)

    def end(self) -> Iterator[Delta]:
        """Yield the remaining delta at the end of the answer; raise BrokenAnswer if the answer is incomplete."""
        if not self.finished:
            raise BrokenAnswer("the answer ended before its finish reason", begun=True)
        if self._last is None:
            return
        last, self._last = self._last, None
        sent = sum(choice.sent for choice in self._choices)
        total = self._completion_tokens
        if total is None:  # upstreams that report no usage send one chunk for each token
            total = sum(choice.counted if choice.counted is not None else choice.chunks for choice in self._choices)
        tokens = last.tokens + max(0, total - sent - last.tokens)
        yield replace(last, tokens=tokens, cached_tokens=self._cached)

    def _read_usage(self, usage: Json, choices: Sequence[object]) -> None:
        """Store token counts.

        In a chunk with choices, usage counts the tokens of these choices so far, as with vLLM's continuous_usage_stats
        and MindIE's last chunks. If they have ended already, it counts the whole answer: LiteLLM puts an empty choice
        next to it.
        """
        completion: Any = usage.get("completion_tokens")
        details = usage.get("prompt_tokens_details")
        cached: Any = details.get("cached_tokens") if isinstance(details, dict) else None
        self.prompt_tokens = read_prompt_tokens(usage) or self.prompt_tokens
        if is_count(cached):
            self._cached = cached
        if not is_count(completion):
            return
        running = [choice for row in choices if (choice := self._find_choice(row)) is not None and not choice.finished]
        if not running:
            self._completion_tokens = completion
        for choice in running:
            choice.counted = completion

    def _find_choice(self, row: object) -> _Choice | None:
        index = row.get("index", 0) if isinstance(row, dict) else None
        known = isinstance(index, int) and not isinstance(index, bool) and 0 <= index < len(self._choices)
        return self._choices[index] if known else None  # type: ignore[index]  # index is an int if known

    def _read_choice(self, row: Json, content: object, at: float) -> Iterator[Delta]:
        """Yield the deltas for one item of `choices`. content: its delta or its message."""
        choice = self._find_choice(row)
        if choice is None:
            raise BrokenAnswer("the answer has a choice that was not requested", begun=True)
        if choice.finished:
            return
        content = content if isinstance(content, dict) else {}
        text, reasoning = read_text(content.get("content")), ""
        if self._params.reasoning:
            reasoning = read_text(content.get("reasoning_content")) or read_text(content.get("reasoning"))
        most = (self._params.logprobs or 0) + len(self._params.logprob_token_ids)
        logprobs = read_logprobs(row.get("logprobs"), most) if self._params.logprobs is not None else []
        reason = read_finish_reason(row.get("finish_reason"))
        calls = tuple(_read_calls(choice, content.get("tool_calls"))) if self._params.tools is not None else ()
        is_end = bool(reason) and reason != "length"  # of an answer that ends by itself, the end is a token
        choice.chunks += bool(text or reasoning or calls or logprobs or is_end or (choice.begun and reason is None))
        choice.begun = True
        text, stopped = self._cut_text(choice, text, ended=reason is not None)
        if stopped:
            self.cut, reason = True, "stop"
        if not (text or reasoning or calls or logprobs or reason):
            return
        *before, (text, logprob) = split_by_token(text, logprobs) or [(text, None)]
        for token_text, token_logprob in before:
            choice.sent += 1
            yield Delta(token_text, -1, None, None, None, None, choice.index, token_logprob, cached_tokens=None)
        tokens = 1 if logprobs else 0  # without logprobs or usage, the very last delta gets the remaining tokens
        if choice.counted is not None:
            tokens = max(0, choice.counted - choice.sent)
        delta = Delta(
            text=text,
            token_id=-1,
            finish_reason=reason,
            batch_size=None,
            queue_wait_s=None,
            step_s=at - choice.last_chunk_at,
            index=choice.index,
            logprob=logprob,
            reasoning=reasoning,
            tokens=tokens,
            cached_tokens=self._cached if reason else None,
            stop_reason=read_stop_reason(row, self._params.stop) if reason else None,
            calls=calls,
        )
        choice.last_chunk_at = at
        choice.finished = reason is not None
        if choice.finished and self.finished and choice.counted is None:
            self._last = delta
        else:
            choice.sent += tokens
            yield delta

    def _cut_text(self, choice: _Choice, text: str, *, ended: bool) -> tuple[str, bool]:
        """Return the text up to a stop string, and whether one was found, if the gateway cuts the text."""
        if choice.scanner is None:
            return text, False
        text, stopped = choice.scanner.push(text)
        return (text, True) if stopped else (text + choice.scanner.flush() if ended else text, False)


def _read_calls(choice: _Choice, rows: object) -> Iterator[CallPiece]:
    """Yield pieces of tool calls, numbered in the order in which the calls begin.

    Raises BrokenAnswer for an invalid call, and for a call that begins without a name.
    """
    for at, row in enumerate(rows if isinstance(rows, list) else []):
        index = row.get("index", at) if isinstance(row, dict) else None
        function = row.get("function") if isinstance(row, dict) else None
        if not isinstance(index, int) or not isinstance(function, dict):
            raise BrokenAnswer("the answer has an invalid tool call", begun=True)
        name = read_text(function.get("name")) or None
        if index not in choice.calls:
            if name is None:
                raise BrokenAnswer("the answer has a tool call without a name", begun=True)
            choice.calls[index] = len(choice.calls)
        else:
            name = None  # some upstreams repeat the name with every piece
        yield CallPiece(choice.calls[index], name, read_text(function.get("arguments")))
