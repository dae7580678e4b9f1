"""Variations of how streams divide text and arguments into chunks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import orjson

from openapi.stream import sse
from reference_server.faults.decorators import has_parameters, variation
from reference_server.faults.hooks import DATA, DONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

BY_TOKEN: Final = ("logprobs", "return_token_ids", "stream_interval")
LAST_WORD: Final = re.compile(r"\S*$")


def _is_divisible(request: ServedRequest, chunk: Json) -> bool:
    """Whether a chunk may be divided otherwise: it has one choice that goes on, and no data of single tokens."""
    choices = chunk.get("choices") or []
    several = (request.payload.get("n") or 1) != 1 or any(request.payload.get(name) for name in BY_TOKEN)
    return len(choices) == 1 and not several and not choices[0].get("finish_reason") and not chunk.get("usage")


def _chunk_of(frame: bytes) -> Json:
    value: Json = {} if frame == DONE else orjson.loads(frame.removeprefix(DATA))
    return value


def _with_delta(chunk: Json, delta: Json) -> bytes:
    return sse.encode(orjson.dumps({**chunk, "choices": [{**chunk["choices"][0], "delta": delta}]}))


def _by_character(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    chunk = _chunk_of(frame)
    delta = chunk["choices"][0]["delta"] if _is_divisible(request, chunk) else {}
    calls: list[Json] = delta.get("tool_calls") or []
    if len(calls) != 1 or len(calls[0].get("function", {}).get("arguments") or "") < 2 or delta.get("content"):
        yield frame
        return
    first, *rest = calls[0]["function"]["arguments"]
    function = {**calls[0]["function"], "arguments": first}
    yield _with_delta(chunk, {**delta, "tool_calls": [{**calls[0], "function": function}]})
    for character in rest:
        piece = {"index": calls[0]["index"], "function": {"arguments": character}}
        yield _with_delta(chunk, {**delta, "tool_calls": [piece]})


def _by_word(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    chunk, held = _chunk_of(frame), request.state.pop("held", None)
    divisible = _is_divisible(request, chunk)
    delta = chunk["choices"][0]["delta"] if divisible else {}
    if not delta.get("content") or delta.get("tool_calls") or delta.get("role"):
        if held is not None:
            yield _with_delta(*held)
        yield frame
        return
    text = (held[1]["content"] if held is not None else "") + delta["content"]
    words = LAST_WORD.sub("", text)
    rest = text[len(words) :]
    if words:
        yield _with_delta(chunk, {**delta, "content": words})
    if rest:
        request.state["held"] = (chunk, {**delta, "content": rest})


def _has_no_timings(contract: Contract) -> bool:
    return not contract.answer.timings


arguments_by_character = variation(
    "arguments-by-character",
    "Streams send the arguments of calls one character at a time.",
    event=_by_character,
    applies_to=lambda contract: has_parameters("tools")(contract) and _has_no_timings(contract),
)
words_at_once = variation("words-at-once", "Streams send whole words only.", event=_by_word, applies_to=_has_no_timings)
