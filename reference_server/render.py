"""Engine output in the dialect's own form: a whole answer, or the chunks of a stream. Pure.

The contract's AnswerForm and StreamForm say what a dialect writes; nothing here knows a dialect by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from openapi.contract import AnswerForm, Contract
    from reference_server.engine import Delta

Json = dict[str, Any]
ROLE: Final = "assistant"
MILLISECONDS_PER_S: Final = 1_000
MICROSECONDS_PER_S: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Heading:
    """What all parts of one answer share. id: None where the dialect has none; created: Unix time in seconds."""

    id: str | None
    created: int
    model: str

    def members(self, kind: str) -> Json:
        """The heading of an answer or a chunk; `kind` is its `object`."""
        named = {} if self.id is None else {"id": self.id}
        return {**named, "object": kind, "created": self.created, "model": self.model}


def completion(contract: Contract, heading: Heading, prompt_tokens: int, deltas: Sequence[Delta]) -> Json:
    """The whole answer; `deltas` ends with the one that has a finish reason."""
    form = contract.answer
    answer: Json = {
        **heading.members("chat.completion"),
        "choices": [
            {
                "index": 0,
                "message": {"role": ROLE, "content": "".join(delta.text for delta in deltas), **form.message},
                **form.choice,
                "finish_reason": deltas[-1].finish_reason,
            }
        ],
        "usage": usage(form, prompt_tokens, deltas),
    }
    if form.timings:
        first, *later = (_milliseconds(delta.step_s) for delta in deltas)
        answer |= {"prefill_time": first, "decode_time_arr": later}
    return answer


def usage(form: AnswerForm, prompt_tokens: int, deltas: Sequence[Delta]) -> Json:
    """Tokens counted, with what was measured for each generated token where the form has it."""
    counts: Json = {"prompt_tokens": prompt_tokens}
    if form.cached_tokens:
        counts["prompt_tokens_details"] = {"cached_tokens": 0}  # no prompt is ever taken from a cache
    counts |= {"completion_tokens": len(deltas), "total_tokens": prompt_tokens + len(deltas)}
    if form.token_arrays:
        counts["batch_size"] = [delta.batch_size for delta in deltas]
        counts["queue_wait_time"] = [round(delta.queue_wait_s * MICROSECONDS_PER_S) for delta in deltas]
    return counts


def _milliseconds(seconds: float) -> float:
    return round(seconds * MILLISECONDS_PER_S, 3)


class ChunkWriter:
    """The chunks of one stream, in order: `opening`, then `add` for each delta, then `closing`.

    One chunk stands for each generated token. The last one holds no text, as in the documents' examples, so the
    text of a last token that has one (the limit cut the answer, or a stop text stays in it) comes in a chunk before.
    In full-text mode every chunk holds the whole text so far, the last one included, which names it `full_text` too.

    include_usage: the request asked for the usage that some dialects send only then.
    """

    def __init__(
        self, contract: Contract, heading: Heading, prompt_tokens: int, *, full_text: bool, include_usage: bool
    ) -> None:
        self._form = contract.stream
        self._answer_form = contract.answer
        self._heading = heading.members("chat.completion.chunk")
        self._prompt_tokens = prompt_tokens
        self._full_text = full_text
        self._asked_for_usage = include_usage and self._form.usage == "on-request"
        self._deltas: list[Delta] = []
        self._text = ""
        self._opened = False

    def opening(self) -> Iterator[Json]:
        """The chunk that some dialects send before the first token."""
        if self._form.opening_chunk:
            yield self._chunk("", None)

    def add(self, delta: Delta) -> Iterator[Json]:
        """The chunks of one delta; two for a last one with text."""
        self._deltas.append(delta)
        self._text += delta.text
        if delta.finish_reason is None or (delta.text and not self._full_text):
            yield self._chunk(self._text if self._full_text else delta.text, None)
        if delta.finish_reason is not None:
            extra: Json = {"full_text": self._text} if self._full_text else {}
            if self._form.usage == "with-finish":
                extra["usage"] = usage(self._answer_form, self._prompt_tokens, self._deltas)
            yield self._chunk(self._text if self._full_text else "", delta.finish_reason, extra)

    def closing(self) -> Iterator[Json]:
        """The chunk of usage alone, after the last token, where the request asked for it."""
        if self._asked_for_usage:
            counts = usage(self._answer_form, self._prompt_tokens, self._deltas)
            yield self._ordered({**self._heading, "choices": [], "usage": counts})

    def _chunk(self, text: str, finish_reason: str | None, extra: Mapping[str, Any] | None = None) -> Json:
        if self._form.role == "every-delta" or (self._form.role == "first-delta" and not self._opened):
            delta = {"role": ROLE, "content": text}
        else:
            delta = {"content": text}
        self._opened = True
        chunk = {
            **self._heading,
            **({"usage": None} if self._asked_for_usage else {}),
            **(extra or {}),
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
        }
        return self._ordered(chunk)

    def _ordered(self, chunk: Json) -> Json:
        return {key: chunk[key] for key in self._form.key_order if key in chunk}
