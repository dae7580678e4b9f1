"""AnswerReader: the chunks or the whole answer of an upstream, as deltas. Pure.

Upstreams agree on little: a role on every delta or on none, usage with the last chunk, with each or after all, the end
named by `[DONE]` or not at all. What is read here is what they have in common; the rest is left aside.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from reference_server.engine import CallPiece, Delta, TokenLogprob
from reference_server.engine.detokenizer import StopScanner
from reference_server.upstream.connection import Dropped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reference_server.engine import FinishReason
    from reference_server.upstream.request_translation import Ask, Json

FINISHES: Final[dict[str, FinishReason]] = {
    "stop": "stop",
    "eos_token": "stop",
    "eos": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "repetition": "repetition",
}
MOST_TOKENS: Final = 2**40


@dataclass(slots=True)
class _Choice:
    """What has come of one choice. counted: its tokens so far; sent: those that deltas stand for.

    at: when the last chunk came. begun: whether anything did; the first chunk of many upstreams says only whose turn it
    is. chunks: all the others. calls: of tools: the upstream's index -> ours.
    """

    index: int
    at: float
    scanner: StopScanner | None
    over: bool = False
    counted: int | None = None
    sent: int = 0
    begun: bool = False
    chunks: int = 0
    calls: dict[int, int] = field(default_factory=dict)


class AnswerReader:
    """Reads one upstream's answer. `chunk` or `whole` give deltas; `end` gives what waited for the count of tokens.

    prompt_tokens: once told. cut: a stop text was found here, so the upstream may go on with what nobody wants.
    """

    def __init__(self, ask: Ask, started_at: float) -> None:
        self.prompt_tokens = 0
        self.cut = False
        self._cached: int | None = None
        self._params = ask.params
        cut = (ask.params.stop, ask.params.include_stop_str_in_output)
        self._choices = [
            _Choice(index, started_at, StopScanner(*cut) if ask.cut else None) for index in range(ask.params.n)
        ]
        self._completion_tokens: int | None = None
        self._last: Delta | None = None  # waits for the count of all tokens

    @property
    def over(self) -> bool:
        """Whether every choice has said all."""
        return all(choice.over for choice in self._choices)

    def chunk(self, chunk: Json, at: float) -> Iterator[Delta]:
        """The deltas of one chunk that came at a time; raises Dropped for one that makes no sense."""
        usage = chunk.get("usage")
        choices = chunk.get("choices")
        choices = choices if isinstance(choices, list) else []
        if isinstance(usage, dict):
            self._count(usage, choices)
        for row in choices:
            if isinstance(row, dict):
                yield from self._said(row, row.get("delta"), at)

    def whole(self, answer: Json, at: float) -> Iterator[Delta]:
        """The deltas of an answer that came at once."""
        usage, choices = answer.get("usage"), answer.get("choices")
        if isinstance(usage, dict):
            self._count(usage, [])
        for row in choices if isinstance(choices, list) else []:
            if isinstance(row, dict):
                yield from self._said(row, row.get("message"), at)

    def end(self) -> Iterator[Delta]:
        """What is left once nothing more comes; raises Dropped where that is too early."""
        if not self.over:
            raise Dropped("the answer ended before its finish reason", begun=True)
        if self._last is None:
            return
        last, self._last = self._last, None
        told = sum(choice.sent for choice in self._choices)
        total = self._completion_tokens
        if total is None:  # nobody counted: upstreams like that send one chunk for each token
            total = sum(choice.counted if choice.counted is not None else choice.chunks for choice in self._choices)
        tokens = last.tokens + max(0, total - told - last.tokens)
        yield replace(last, tokens=tokens, cached_tokens=self._cached)

    def _count(self, usage: Json, choices: Sequence[object]) -> None:
        """Beside choices usage is theirs so far, as with vLLM's continuous_usage_stats and MindIE's finish reasons."""
        prompt: Any = usage.get("prompt_tokens")
        completion: Any = usage.get("completion_tokens")
        details = usage.get("prompt_tokens_details")
        cached: Any = details.get("cached_tokens") if isinstance(details, dict) else None
        if _counts(prompt):
            self.prompt_tokens = prompt
        if _counts(cached):
            self._cached = cached
        if not _counts(completion):
            return
        if not choices:
            self._completion_tokens = completion
        for row in choices:
            if (choice := self._choice(row)) is not None and not choice.over:
                choice.counted = completion

    def _choice(self, row: object) -> _Choice | None:
        index = row.get("index", 0) if isinstance(row, dict) else None
        known = isinstance(index, int) and not isinstance(index, bool) and 0 <= index < len(self._choices)
        return self._choices[index] if known else None  # type: ignore[index]  # an int by then

    def _said(self, row: Json, said: object, at: float) -> Iterator[Delta]:
        choice = self._choice(row)
        if choice is None:
            raise Dropped("the answer holds a choice that nobody asked for", begun=True)
        if choice.over:
            return
        said = said if isinstance(said, dict) else {}
        text, reasoning = _text(said.get("content")), ""
        if self._params.reasoning:
            reasoning = _text(said.get("reasoning_content")) or _text(said.get("reasoning"))
        logprobs = _logprobs(row.get("logprobs")) if self._params.logprobs is not None else []
        reason = _reason(row.get("finish_reason"))
        calls = tuple(_calls(choice, said.get("tool_calls"))) if self._params.tools is not None else ()
        choice.chunks += bool(text or reasoning or calls or logprobs or choice.begun or reason)
        choice.begun = True
        text, stopped = self._cut(choice, text, ended=reason is not None)
        if stopped:
            self.cut, reason = True, "stop"
        if not (text or reasoning or calls or logprobs or reason):
            return
        *before, (text, logprob) = _shared_out(text, logprobs) or [(text, None)]
        for part, told in before:
            choice.sent += 1
            yield Delta(part, -1, None, None, None, None, choice.index, told, cached_tokens=None)
        tokens = 1 if logprobs else 0  # where neither this nor usage says it, the last delta of all has what is left
        if choice.counted is not None:
            tokens = max(0, choice.counted - choice.sent)
        delta = Delta(
            text=text,
            token_id=-1,
            finish_reason=reason,
            batch_size=None,
            queue_wait_s=None,
            step_s=at - choice.at,
            index=choice.index,
            logprob=logprob,
            reasoning=reasoning,
            tokens=tokens,
            cached_tokens=self._cached if reason else None,
            stop_reason=_stop_reason(row) if reason else None,
            calls=calls,
        )
        choice.at = at
        choice.over = reason is not None
        if choice.over and self.over and choice.counted is None:
            self._last = delta
        else:
            choice.sent += tokens
            yield delta

    def _cut(self, choice: _Choice, text: str, *, ended: bool) -> tuple[str, bool]:
        """(text, whether a stop text was found) where stop texts are cut here."""
        if choice.scanner is None:
            return text, False
        text, stopped = choice.scanner.push(text)
        return (text, True) if stopped else (text + choice.scanner.flush() if ended else text, False)


def _text(value: object) -> str:
    """A text, empty where it is missing. Raises Dropped for any other value: leaving it out would change the answer."""
    if value is None or isinstance(value, str):
        return value or ""
    raise Dropped("the answer holds a text that is none", begun=True)


def _counts(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS


def _reason(value: object) -> FinishReason | None:
    if value is None or value == "":
        return None
    if value not in FINISHES:
        raise Dropped(f"the answer ended with finish_reason {str(value)[:40]!r}", begun=True)
    return FINISHES[str(value)]


def _calls(choice: _Choice, rows: object) -> Iterator[CallPiece]:
    """Pieces of calls, numbered in the order in which they begin; raises Dropped for one that begins without a name."""
    for at, row in enumerate(rows if isinstance(rows, list) else []):
        index = row.get("index", at) if isinstance(row, dict) else None
        function = row.get("function") if isinstance(row, dict) else None
        if not isinstance(index, int) or not isinstance(function, dict):
            raise Dropped("the answer holds a call that is none", begun=True)
        name = _text(function.get("name")) or None
        if index not in choice.calls:
            if name is None:
                raise Dropped("the answer holds a call without a name", begun=True)
            choice.calls[index] = len(choice.calls)
        else:
            name = None  # some say it again with every piece
        yield CallPiece(choice.calls[index], name, _text(function.get("arguments")))


def _stop_reason(row: Json) -> str | int | None:
    value = row.get("stop_reason")
    return value if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def _shared_out(text: str, logprobs: list[TokenLogprob]) -> list[tuple[str, TokenLogprob | None]]:
    """The text with each token that made it; all of it with the last where the tokens do not add up to it."""
    if "".join(logprob.text for logprob in logprobs) == text:
        return [(logprob.text, logprob) for logprob in logprobs]
    return [("" if at < len(logprobs) - 1 else text, each) for at, each in enumerate(logprobs)]


def _logprobs(value: object) -> list[TokenLogprob]:
    content = value.get("content") if isinstance(value, dict) else None
    rows = content if isinstance(content, list) else []
    return [_logprob(row) for row in rows if isinstance(row, dict)]


def _logprob(row: Json) -> TokenLogprob:
    value, data, top = row.get("logprob"), row.get("bytes"), row.get("top_logprobs")
    byte_values = data if isinstance(data, list) and all(_counts(byte) and byte < 256 for byte in data) else None
    return TokenLogprob(
        _text(row.get("token")),
        None if byte_values is None else bytes(byte_values),
        float(value) if isinstance(value, (int, float)) else 0.0,
        tuple(_logprob({**each, "top_logprobs": None}) for each in top or () if isinstance(each, dict)),
    )
