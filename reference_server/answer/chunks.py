"""Chunks: the deltas of a request as the chunks of a stream in the dialect's own form.

Pure, but for the random characters that hide how long a text is (`telling.disguise`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from reference_server.answer.response_fields import (
    ROLE,
    ending_told,
    ids_told,
    logprobs,
    prompt_told,
    reasoning_member,
    said,
    usage,
)
from reference_server.request.response_options import disguise
from reference_server.tool_call_output import CallWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from openapi.contract.contract import Contract
    from reference_server.answer.response_fields import Heading, Json
    from reference_server.engine import Delta, SamplingParams
    from reference_server.request.response_options import Telling


class Counted(Protocol):
    """What knows the length of the prompt: at the latest when its answer ends, for an upstream may tell it then."""

    prompt_tokens: int


class ChunkWriter:
    """The chunks of one stream, in order: `opening`, then `add` for each delta, then `closing`.

    One chunk stands for each generated token. The last one of a choice holds no text, as in the documents' examples,
    so the text of a last token that has one (the limit cut the answer, or a stop text stays in it) comes in a chunk
    before. Answers that are known only when they are whole come in one chunk each, and a last one.
    In full-text mode every chunk holds the whole text so far, the last one included, which names it `full_text` too.

    telling: what the request asked for. Some dialects send usage only where it was asked for, once for all choices; the
    others send each choice's own with its last chunk.
    """

    def __init__(
        self,
        contract: Contract,
        heading: Heading,
        counted: Counted,
        params: SamplingParams,
        *,
        full_text: bool,
        telling: Telling,
    ) -> None:
        self._contract = contract
        self._form = contract.stream
        self._calls = heading.calls
        self._heading = heading.members("chat.completion.chunk")
        self._counted = counted
        self._whole = params.known_at_end
        self._tells_logprobs = params.logprobs is not None
        self._full_text = full_text
        self._model = heading.model
        self._telling = telling
        self._completion_tokens = 0
        self._asked_for_usage = telling.usage and self._form.usage == "on-request"
        self._members = contract.schemas["ChunkChoice"]["properties"]
        self._thought = reasoning_member(contract) if telling.reasoning else None
        self._choices = [_Choice(CallWriter(heading.calls, index)) for index in range(params.n)]

    def opening(self) -> Iterator[Json]:
        """The chunk that some dialects send of each choice before its first token."""
        if self._form.opening_chunk:
            for index in range(len(self._choices)):
                self._choices[index].text = self._telling.echo
                yield self._chunk(index, [], None, echo=self._telling.echo)

    def add(self, delta: Delta) -> Iterator[Json]:
        """The chunks of one delta; two for a last one with text."""
        choice = self._choices[delta.index]
        choice.add(delta)
        self._completion_tokens += delta.tokens
        finished = delta.finish_reason is not None
        if self._whole and not finished:
            return
        new = choice.deltas if self._whole else choice.unsent(self._telling.interval, finished=finished)
        if not new:
            return
        if not finished or (any(said(new)) and not self._full_text) or any(each.calls for each in new):
            yield self._chunk(delta.index, new, None)
            new = []
        if finished:
            extra: Json = {}
            if self._full_text:
                extra["full_text"] = choice.text
            if self._form.usage == "with-finish":
                extra["usage"] = usage(self._contract, self._counted.prompt_tokens, choice.deltas)
            yield self._chunk(delta.index, new, self._calls.reason(delta.finish_reason), extra)

    def closing(self) -> Iterator[Json]:
        """The chunk of usage alone, after the last token, where the request asked for it."""
        if self._asked_for_usage:
            deltas = [delta for choice in self._choices for delta in choice.deltas]
            counts = usage(self._contract, self._counted.prompt_tokens, deltas)
            yield self._ordered({**self._heading, "choices": [], "usage": counts})

    def _chunk(
        self,
        index: int,
        new: Sequence[Delta],
        finish_reason: str | None,
        extra: Mapping[str, Any] | None = None,
        *,
        echo: str = "",
    ) -> Json:
        choice = self._choices[index]
        text, reasoning = (choice.text, choice.reasoning) if self._full_text else said(new)
        text = echo or text
        called = choice.calls.added(new)
        silent = called and not text and self._contract.answer.silence is None
        delta: Json = {**({} if silent else {"content": text}), **called}
        if reasoning and self._thought:
            delta[self._thought] = reasoning
        if self._form.role == "every-delta" or (self._form.role == "first-delta" and not choice.opened):
            delta = {"role": ROLE, **delta}
        choice.opened = True
        told: Json = {}
        if self._tells_logprobs:
            told["logprobs"] = logprobs(self._contract, new, self._telling) if new else None
        told |= ids_told(new, self._telling)
        if finish_reason is not None:
            told |= ending_told(self._members, choice.deltas, self._model, self._telling)
        chunk = {
            **self._heading,
            **self._usage_so_far(),
            **prompt_told(new, self._telling),
            **({"obfuscation": disguise(text)} if self._telling.obfuscation else {}),
            **(extra or {}),
            "choices": [{"index": index, "delta": delta, **told, "finish_reason": finish_reason}],
        }
        return self._ordered(chunk)

    def _usage_so_far(self) -> Json:
        if self._telling.every_usage:
            prompt, completion = self._counted.prompt_tokens, self._completion_tokens
            counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
            return {"usage": counts}
        return {"usage": None} if self._asked_for_usage else {}

    def _ordered(self, chunk: Json) -> Json:
        return {key: chunk[key] for key in self._form.key_order if key in chunk}


@dataclass(slots=True)
class _Choice:
    """What has come of one choice. opened: whether anything of it was sent. sent: how many deltas."""

    calls: CallWriter
    deltas: list[Delta] = field(default_factory=list)
    text: str = ""
    reasoning: str = ""
    opened: bool = False
    sent: int = 0

    def unsent(self, interval: int, *, finished: bool) -> list[Delta]:
        """The deltas that go out now: all that have not, once they are so many or the last is there."""
        new = self.deltas[self.sent :]
        if len(new) < interval and not finished:
            return []
        self.sent = len(self.deltas)
        return new

    def add(self, delta: Delta) -> None:
        self.deltas.append(delta)
        self.text += delta.text
        self.reasoning += delta.reasoning
