"""Variations of how streams divide text and tool calls into chunks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import orjson

from openapi.stream import sse
from reference_server.answer.response_fields import reasoning_field
from reference_server.faults.blind.thought_recipes import thinks
from reference_server.faults.decorators import choices_of, has_parameters, message_of, variation
from reference_server.faults.fault_middleware import parse_object
from reference_server.faults.hooks import DATA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

BY_TOKEN: Final = ("logprobs", "return_token_ids", "stream_interval")
SENTENCE: Final = re.compile(r".*[.!?\n]\s*", re.DOTALL)
FIELDS: Final = {"StreamEvent": None, "IsDelta": True, "Successful": True, "HttpStatusCode": 0}


def _is_divisible(request: ServedRequest, chunk: Json) -> bool:
    """Whether a chunk has one choice, and the request needs no data of single tokens."""
    several = (request.payload.get("n") or 1) != 1 or any(request.payload.get(name) for name in BY_TOKEN)
    return len(chunk.get("choices") or ()) == 1 and not several and not chunk.get("usage")


def _with_delta(chunk: Json, delta: Json) -> bytes:
    return sse.encode(orjson.dumps({**chunk, "choices": [{**chunk["choices"][0], "delta": delta}]}))


def _by_sentence(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    chunk, held = parse_object(frame.removeprefix(DATA)), request.state.pop("held", None)
    going_on = _is_divisible(request, chunk) and not chunk["choices"][0].get("finish_reason")
    delta = chunk["choices"][0]["delta"] if going_on else {}
    if not delta.get("content") or delta.get("tool_calls"):
        if held is not None:
            yield _with_delta(*held)
        yield frame
        return
    text = (held[1]["content"] if held is not None else "") + delta["content"]
    match = SENTENCE.match(text)
    whole = match[0] if match else ""
    if whole:
        yield _with_delta(chunk, {**delta, "content": whole})
    if rest := text[len(whole) :]:
        request.state["held"] = (chunk, {**delta, "content": rest})


def _whole_calls(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    chunk = parse_object(frame.removeprefix(DATA))
    choice = chunk["choices"][0] if _is_divisible(request, chunk) else {}
    pieces: list[Json] = choice.get("delta", {}).get("tool_calls") or []
    calls: dict[int, Json] = request.state.setdefault("calls", {})
    for piece in pieces:
        request.state.setdefault("chunk", {**chunk, "choices": [{**choice, "finish_reason": None}]})
        call = calls.setdefault(piece["index"], {**piece, "function": {**piece["function"], "arguments": ""}})
        call["function"]["arguments"] += piece["function"].get("arguments") or ""
    ends = not choice or choice.get("finish_reason") or choice["delta"].get("content")
    if calls and ends:
        base = request.state["chunk"]
        yield _with_delta(base, {**base["choices"][0]["delta"], "tool_calls": list(calls.values())})
        calls.clear()
    if not pieces:
        yield frame
    elif choice.get("finish_reason"):
        yield _with_delta(chunk, {name: value for name, value in choice["delta"].items() if name != "tool_calls"})


def _empty_arguments_first(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    chunk = parse_object(frame.removeprefix(DATA))
    delta = chunk["choices"][0]["delta"] if _is_divisible(request, chunk) else {}
    calls: list[Json] = delta.get("tool_calls") or []
    function = calls[0].get("function", {}) if len(calls) == 1 else {}
    if function.get("name") and function.get("arguments"):
        head = {**chunk, "choices": [{**chunk["choices"][0], "finish_reason": None}]}
        yield _with_delta(head, {**delta, "tool_calls": [{**calls[0], "function": {**function, "arguments": ""}}]})
        rest = {"index": calls[0]["index"], "function": {"arguments": function["arguments"]}}
        yield _with_delta(chunk, {**delta, "tool_calls": [rest]})
    else:
        yield frame


def _no_arguments_first(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    for part in _empty_arguments_first(frame, request):
        yield part.replace(b',"arguments":""}', b"}")


def _role_alone(chunk: Json, request: ServedRequest) -> None:
    for choice in choices_of(chunk) if request.event_index == 0 else ():
        if choice["delta"].get("role") and not choice["delta"].get("content"):
            choice["delta"].pop("content", None)


def _empty_thoughts(chunk: Json, request: ServedRequest) -> None:
    name = reasoning_field(request.contract)
    if name is not None and request.event_index == 0 and thinks(request.payload):
        for choice in choices_of(chunk):
            message_of(choice).setdefault(name, "")


def _add_fields(chunk: Json, _request: ServedRequest) -> None:
    chunk.update(FIELDS)


def _is_loose(contract: Contract) -> bool:
    """Apply to dialects without times of single tokens and without a role in each delta."""
    return not contract.answer.timings and "stream_options" in contract.parameters


def _is_loose_with_tools(contract: Contract) -> bool:
    return _is_loose(contract) and has_parameters("tools")(contract)


sentences_at_once = variation(
    "sentences-at-once", "Streams send whole sentences only.", event=_by_sentence, applies_to=_is_loose
)
whole_calls_at_once = variation(
    "whole-calls-at-once",
    "Streams send all calls of an answer in one chunk.",
    event=_whole_calls,
    applies_to=_is_loose_with_tools,
)
empty_arguments_first = variation(
    "empty-arguments-first",
    "The first piece of a streamed call has the name and an empty string as arguments.",
    event=_empty_arguments_first,
    applies_to=_is_loose_with_tools,
)
calls_begin_without_arguments = variation(
    "calls-begin-without-arguments",
    "The first piece of a streamed call has the name and no arguments.",
    event=_no_arguments_first,
    applies_to=_is_loose_with_tools,
)
role_alone_first = variation(
    "role-alone-first",
    "The first delta of a stream has only a role.",
    chunk=_role_alone,
    applies_to=_is_loose_with_tools,
)
empty_thoughts_first = variation(
    "empty-thoughts-first",
    "The first delta of a stream with reasoning has an empty reasoning.",
    chunk=_empty_thoughts,
    applies_to=has_parameters("chat_template_kwargs"),
)
chunks_with_server_fields = variation(
    "chunks-with-server-fields", "Chunks contain fields of the server's own classes.", chunk=_add_fields
)
