"""Conversion of a request's deltas to the chunks of a stream in the dialect's form.

The output depends only on the input, except for the random characters that hide the length of the text
(`response_options.obfuscation_padding`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from reference_server.answer.response_fields import (
    ROLE,
    finish_fields,
    join_text,
    logprobs,
    prompt_fields,
    reasoning_field,
    token_id_fields,
    usage,
)
from reference_server.request.response_options import obfuscation_padding
from reference_server.tool_call_output import ToolCallWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from openapi.contract.contract import Contract
    from reference_server.answer.response_fields import AnswerMetadata, Json
    from reference_server.engine import Delta, SamplingParams
    from reference_server.request.response_options import ResponseOptions


class PromptCount(Protocol):
    """An object with the length of the prompt. An upstream may report it as late as the end of its answer."""

    prompt_tokens: int | None


class ChunkWriter:
    """Writes the chunks of one stream: first `opening_chunks`, then `add` for each delta, then `closing_chunks`.

    There is one chunk for each generated token. The last chunk of a choice has no text, as in the documents' examples.
    So if the last token has text (the token limit ended the answer, or a stop string stays in it), the text gets a
    chunk of its own before the last one. Choices that are known only when they are complete are sent in one chunk each,
    followed by the last chunk.
    In full-text mode every chunk has the whole text so far. The last chunk has it too, and repeats it as `full_text`.

    metadata: shared by all chunks. prompt: gives the number of prompt tokens.
    options: optional fields that the request asked for. Some dialects send usage only on request, once for all choices;
        the others send each choice's usage with its last chunk.
    """

    def __init__(
        self,
        contract: Contract,
        metadata: AnswerMetadata,
        prompt: PromptCount,
        params: SamplingParams,
        *,
        full_text: bool,
        options: ResponseOptions,
    ) -> None:
        self._contract = contract
        self._form = contract.stream
        self._call_format = metadata.call_format
        self._shared_fields = metadata.fields("chat.completion.chunk")
        self._prompt = prompt
        self._whole = params.known_at_end
        self._has_logprobs = params.logprobs is not None
        self._full_text = full_text
        self._model = metadata.model
        self._options = options
        self._completion_tokens = 0
        self._sends_usage_chunk = options.usage and self._form.usage == "on-request"
        self._choice_fields = contract.schemas["ChunkChoice"]["properties"]
        self._reasoning_field = reasoning_field(contract) if options.reasoning else None
        self._choices = [_Choice(ToolCallWriter(metadata.call_format, index)) for index in range(params.n)]

    def opening_chunks(self) -> Iterator[Json]:
        """Yield the chunk that some dialects send for each choice before its first token."""
        if self._form.opening_chunk:
            for index in range(len(self._choices)):
                self._choices[index].text = self._options.echo
                yield self._chunk(index, [], None, echo=self._options.echo)

    def add(self, delta: Delta) -> Iterator[Json]:
        """Yield the chunks for one delta; there are two if it is the last of its choice and has text."""
        choice = self._choices[delta.index]
        choice.add(delta)
        self._completion_tokens += delta.tokens
        finished = delta.finish_reason is not None
        if self._whole and not finished:
            return
        new = choice.deltas if self._whole else choice.take_unsent(self._options.stream_interval, finished=finished)
        if not new:
            return
        if not finished or (any(join_text(new)) and not self._full_text) or any(unsent.calls for unsent in new):
            yield self._chunk(delta.index, new, None)
            new = []
        if finished:
            extra: Json = {}
            if self._full_text:
                extra["full_text"] = choice.text
            if self._form.usage == "with-finish":
                extra["usage"] = usage(self._contract, self._prompt.prompt_tokens, choice.deltas)
            yield self._chunk(delta.index, new, self._call_format.finish_reason(delta.finish_reason), extra)

    def closing_chunks(self) -> Iterator[Json]:
        """Yield the chunk with usage only, after the last token, if the request asked for it."""
        if self._sends_usage_chunk:
            deltas = [delta for choice in self._choices for delta in choice.deltas]
            counts = usage(self._contract, self._prompt.prompt_tokens, deltas)
            yield self._ordered({**self._shared_fields, "choices": [], "usage": counts})

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
        text, reasoning = (choice.text, choice.reasoning) if self._full_text else join_text(new)
        text = echo or text
        calls = choice.calls.delta_fields(new)
        silent = calls and not text and self._contract.answer.silence is None
        delta: Json = {**({} if silent else {"content": text}), **calls}
        if reasoning and self._reasoning_field:
            delta[self._reasoning_field] = reasoning
        if self._form.role == "every-delta" or (self._form.role == "first-delta" and not choice.opened):
            delta = {"role": ROLE, **delta}
        choice.opened = True
        fields: Json = {}
        if self._has_logprobs:
            fields["logprobs"] = logprobs(self._contract, new, self._options) if new else None
        fields |= token_id_fields(new, self._options)
        if finish_reason is not None:
            fields |= finish_fields(self._choice_fields, choice.deltas, self._model, self._options)
        chunk = {
            **self._shared_fields,
            **self._usage_so_far(),
            **prompt_fields(new, self._options),
            **({"obfuscation": obfuscation_padding(text)} if self._options.obfuscation else {}),
            **(extra or {}),
            "choices": [{"index": index, "delta": delta, **fields, "finish_reason": finish_reason}],
        }
        return self._ordered(chunk)

    def _usage_so_far(self) -> Json:
        if self._options.continuous_usage:
            prompt, completion = self._prompt.prompt_tokens, self._completion_tokens
            if prompt is None:
                return {}
            counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
            return {"usage": counts}
        return {"usage": None} if self._sends_usage_chunk else {}

    def _ordered(self, chunk: Json) -> Json:
        return {key: chunk[key] for key in self._form.key_order if key in chunk}


@dataclass(slots=True)
class _Choice:
    """State of one choice. opened: whether a chunk of it was sent. sent: how many deltas were sent."""

    calls: ToolCallWriter
    deltas: list[Delta] = field(default_factory=list)
    text: str = ""
    reasoning: str = ""
    opened: bool = False
    sent: int = 0

    def take_unsent(self, interval: int, *, finished: bool) -> list[Delta]:
        """Return all unsent deltas if there are at least `interval` of them or the choice is finished, else none."""
        new = self.deltas[self.sent :]
        if len(new) < interval and not finished:
            return []
        self.sent = len(self.deltas)
        return new

    def add(self, delta: Delta) -> None:
        self.deltas.append(delta)
        self.text += delta.text
        self.reasoning += delta.reasoning
