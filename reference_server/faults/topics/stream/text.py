"""Faults in which a stream loses, repeats or corrupts text."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import orjson

from openapi.stream import sse
from reference_server.faults.decorators import fault
from reference_server.faults.hooks import DATA, DONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest


def _text(choice: Json) -> str:
    return choice["delta"].get("content") or ""


@fault("cumulative-text", "chunk", bugs=[17])
def cumulative_text(chunk: Json, request: ServedRequest) -> None:
    """Deltas contain all the text so far."""
    for choice in chunk["choices"]:
        key = f"text{choice['index']}"
        request.state[key] = request.state.get(key, "") + _text(choice)
        choice["delta"]["content"] = request.state[key]


@fault("repeats-last-character", "chunk", bugs=[14])
def repeats_last_character(chunk: Json, request: ServedRequest) -> None:
    """Each delta begins with the last character of the previous one."""
    for choice in chunk["choices"]:
        said = _text(choice)
        if said:
            choice["delta"]["content"] = request.state.get("last", "") + said
            request.state["last"] = said[-1]


@fault("first-text-lost", "chunk", bugs=[16])
def first_text_lost(chunk: Json, request: ServedRequest) -> None:
    """The first text of a stream is lost."""
    for choice in chunk["choices"]:
        if _text(choice) and not request.state.get("lost"):
            request.state["lost"] = True
            choice["delta"]["content"] = ""


@fault("last-text-lost", "event", bugs=[16])
def last_text_lost(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """The chunk before the one that ends a stream is lost."""
    held = request.state.pop("held", None)
    if held is not None and b'"finish_reason":null' in frame:
        yield held
    elif held is not None and not request.state.get("ended"):
        request.state["ended"] = True
    elif held is not None:
        yield held
    if b'"finish_reason":null' in frame:
        request.state["held"] = frame
    else:
        yield frame


@fault("empty-lines-lost-in-streams", "chunk")
def empty_lines_lost(chunk: Json, _request: ServedRequest) -> None:
    """Line ends that follow each other become one in streams."""
    for choice in chunk["choices"]:
        if "\n\n" in _text(choice):
            choice["delta"]["content"] = re.sub(r"\n+", "\n", _text(choice))


@fault("spaces-lost", "chunk", bugs=[16])
def spaces_lost(chunk: Json, _request: ServedRequest) -> None:
    """White space at the start of deltas is lost."""
    for choice in chunk["choices"]:
        choice["delta"]["content"] = _text(choice).lstrip()


@fault("deltas-escaped", "chunk")
def deltas_escaped(chunk: Json, _request: ServedRequest) -> None:
    """The text of streams is escaped for HTML: quotes and ampersands become entities."""
    for choice in chunk["choices"]:
        choice["delta"]["content"] = html.escape(_text(choice))


@fault("characters-cut", "chunk", bugs=[13])
def characters_cut(chunk: Json, _request: ServedRequest) -> None:
    """A non-ASCII character is split between two tokens and becomes U+FFFD."""
    for choice in chunk["choices"]:
        choice["delta"]["content"] = "".join(char if char.isascii() else "\ufffd\ufffd" for char in _text(choice))


@fault("whole-text-again", "event", bugs=[14])
def whole_text_comes_again(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """The whole answer is sent again before the last chunk."""
    chunk = {} if frame == DONE else orjson.loads(frame.removeprefix(DATA))
    for choice in chunk.get("choices") or ():
        request.state["text"] = request.state.get("text", "") + (choice["delta"].get("content") or "")
        if choice["finish_reason"] is not None and request.state["text"]:
            again = {**choice, "delta": {**choice["delta"], "content": request.state["text"]}, "finish_reason": None}
            spare = {name: value for name, value in chunk.items() if name not in ("usage", "full_text")}
            yield sse.encode(orjson.dumps({**spare, "choices": [again]}))
    yield frame


def _drop_separators(text: str) -> str:
    return re.sub("[\u0085\u2028\u2029]", "", text)


@fault("separators-lost-in-streams", "chunk")
def separators_lost(chunk: Json, _request: ServedRequest) -> None:
    """Characters that separate lines in Unicode, such as U+2028, are lost in the texts and arguments of streams."""
    for choice in chunk["choices"]:
        delta = choice["delta"]
        if _text(choice):
            delta["content"] = _drop_separators(delta["content"])
        for call in delta.get("tool_calls") or ():
            function = call.get("function") or {}
            if isinstance(function.get("arguments"), str):
                function["arguments"] = _drop_separators(function["arguments"])
