"""Variations that every document allows and the reference server lacks, as changes of a recorded exchange.

The variations of the reference server are in `reference_server.faults.topics.variations`.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conformance.exchange import Exchange, Response, Segment
from conformance.proof.editing.responses import dump
from conformance.proof.editing.streams import Frame, edit_chunks, edit_deltas, edit_frames
from conformance.tests.proof.transport_variations import TRANSPORT

if TYPE_CHECKING:
    from collections.abc import Callable


def with_response(exchange: Exchange, edit: Callable[[Response], Response]) -> Exchange:
    """Edit the response, if there is one."""
    return exchange if exchange.response is None else replace(exchange, response=edit(exchange.response))


def with_bytes(exchange: Exchange, edit: Callable[[bytes], bytes]) -> Exchange:
    """Edit the segments of a stream one by one; other exchanges stay as they are."""

    def change(response: Response) -> Response:
        return replace(
            response, segments=tuple(Segment(segment.at_s, edit(segment.data)) for segment in response.segments)
        )

    return with_response(exchange, change) if exchange.is_stream else exchange


def with_json(exchange: Exchange, write: Callable[[Any], bytes]) -> Exchange:
    """Encode every JSON object of the body again: that of a plain body, or of each event."""
    if exchange.is_stream:
        if not exchange.events:
            return exchange
        return edit_frames(exchange, lambda frames: [_rewritten(frame, write) for frame in frames])
    if not isinstance(exchange.json, dict):
        return exchange
    body = write(exchange.json)
    return with_response(exchange, lambda response: replace(response, segments=(Segment(response.ended_at_s, body),)))


def _rewritten(frame: Frame, write: Callable[[Any], bytes]) -> Frame:
    return frame if frame.chunk is None else frame.with_data(write(frame.chunk))


BYTES: dict[str, Callable[[bytes], bytes]] = {
    "pings as frameworks send them": lambda data: re.sub(
        rb"(?m)^data:", b": ping - 2026-11-22 01:00:00\r\n\r\ndata:", data
    ),
    "the reconnection time in a separate block": lambda data: re.sub(rb"(?m)^data:", b"retry: 3000\n\ndata:", data),
    "an id in a separate block": lambda data: re.sub(rb"(?m)^data:", b"id: 7\n\ndata:", data),
    "events have an empty name": lambda data: re.sub(rb"(?m)^data:", b"event:\ndata:", data),
    "an empty line of data first": lambda data: re.sub(rb"(?m)^(data: \{)", rb"data\n\1", data),
}


def with_field(name: str, field: Any) -> Callable[[Any], bytes]:
    """Set an empty field of every message and delta.

    Calls and reasoning stay, because without them it would be another answer.
    """

    def write(value: Any) -> bytes:
        value = json.loads(json.dumps(value))
        for choice in value.get("choices") or ():
            for part in {"message", "delta"} & set(choice):
                if not choice[part].get(name):
                    choice[part][name] = field
        return dump(value)

    return write


def without_null_reasons(value: Any) -> bytes:
    """Remove finish_reason where it is null."""
    value = json.loads(json.dumps(value))
    for choice in value.get("choices") or ():
        if choice.get("finish_reason", "") is None:
            del choice["finish_reason"]
    return dump(value)


JSON: dict[str, Callable[[Any], bytes]] = {
    "tool_calls empty in answers and deltas": with_field("tool_calls", []),
    "reasoning_content null": with_field("reasoning_content", None),
    "finish_reason absent before the end": without_null_reasons,
}


def opened(exchange: Exchange) -> Exchange:
    """Add a first chunk with the role and no text, as newer versions of the servers send it."""

    def open_choice(chunk: dict[str, Any]) -> None:
        for choice in chunk["choices"]:
            choice["delta"] = {"role": "assistant", "content": ""}
            choice.update({"logprobs": None} if "logprobs" in choice else {})

    return edit_frames(exchange, lambda frames: [frames[0].edited(open_choice), *frames])


def in_full(exchange: Exchange) -> Exchange:
    """Make text and reasoning of deltas cumulative, and add `full_text` to the last one."""
    said = {"content": "", "reasoning_content": ""}

    def lengthen(delta: dict[str, Any]) -> None:
        for name in said:
            said[name] += delta.get(name) or ""
        delta |= {name: text for name, text in said.items() if text or name == "content"}

    longer = edit_deltas(exchange, lengthen)
    return edit_chunks(longer, lambda chunk: chunk.update(full_text=said["content"]), slice(-1, None))


def in_one_chunk(exchange: Exchange) -> Exchange:
    """Put the whole answer into one chunk, as servers do for beam search."""
    said, ended = exchange.content(), exchange.finish_reason()
    if exchange.choices[0].tool_calls or exchange.choices[0].reasoning:
        return exchange

    def combine(frames: list[Frame]) -> list[Frame]:
        # A chunk with only usage stays as it is.
        at = max(at for at, frame in enumerate(frames) if (frame.chunk or {}).get("choices"))
        first = (frames[0].chunk or {})["choices"][0]["delta"]

        told = [(frame.chunk or {}).get("choices") for frame in frames]
        entries = [
            entry for choices in told if choices for entry in (choices[0].get("logprobs") or {}).get("content") or ()
        ]

        ids = [identifier for choices in told if choices for identifier in choices[0].get("token_ids") or ()]
        of_the_prompt = {
            name: value
            for frame in frames
            for name, value in (frame.chunk or {}).items()
            if name.startswith("prompt_") and value is not None
        }

        def fill(chunk: dict[str, Any]) -> None:
            chunk.update(of_the_prompt)
            chunk["choices"][0].update({"token_ids": ids} if ids else {})
            chunk["choices"][0].update(delta={**first, "content": said}, finish_reason=ended)
            chunk["choices"][0].update({"logprobs": {"content": entries}} if entries else {})

        return [frames[at].edited(fill), *frames[at + 1 :]]

    return edit_frames(exchange, combine)


STREAMS: dict[str, Callable[[Exchange], Exchange]] = {
    "an opening chunk with the role": opened,
}


def with_streams(change: Callable[[Exchange], Exchange]) -> Callable[[Exchange], Exchange]:
    """Apply a change to complete streams with one choice."""

    def change_one(exchange: Exchange) -> Exchange:
        fits = exchange.is_stream and exchange.succeeded and len(exchange.choices) == 1
        return change(exchange) if fits else exchange

    return change_one


def _spaced(stop: str | list[str]) -> str | list[str]:
    return stop.replace(" ", "\u2028") if isinstance(stop, str) else [item.replace(" ", "\u2028") for item in stop]


def with_single(change: Callable[[Exchange], Exchange]) -> Callable[[Exchange], Exchange]:
    """Apply a change to complete streams with one choice."""
    return with_streams(lambda exchange: change(exchange) if len(exchange.choices) == 1 else exchange)


def is_formed(exchange: Exchange) -> bool:
    """Tell whether the request asks for structured output."""
    sent = exchange.request_json
    if not isinstance(sent, dict):
        return False
    form = sent.get("response_format")
    return "structured_outputs" in sent or (isinstance(form, dict) and form.get("type") != "text")


def separators(exchange: Exchange) -> Exchange:
    """Replace every space of the text, and of its stop string, by U+2028.

    Between the fields of JSON it is not white space, so structured output stays as it is.
    """
    if is_formed(exchange):
        return exchange

    def write(value: Any) -> bytes:
        value = json.loads(json.dumps(value))
        for choice in value.get("choices") or ():
            for part in {"message", "delta"} & set(choice):
                content = choice[part].get("content")
                choice[part]["content"] = content and content.replace(" ", "\u2028")
            for entry in (choice.get("logprobs") or {}).get("content") or ():
                for item in (entry, *entry["top_logprobs"]):
                    item["token"] = item["token"].replace(" ", "\u2028")
                    item["bytes"] = item["bytes"] and list(bytes(item["bytes"]).replace(b" ", "\u2028".encode()))
        return dump(value)

    sent = exchange.request_json
    if isinstance(sent, dict) and sent.get("stop"):
        stop = sent["stop"]
        spaced = _spaced(stop) if exchange.succeeded else stop
        body = dump({**sent, "stop": spaced})
        exchange = replace(exchange, request=replace(exchange.request, body=body))
    return with_json(exchange, write)


def changed_by(edit: Callable[[bytes], bytes]) -> Callable[[Exchange], Exchange]:
    return lambda exchange: with_bytes(exchange, edit)


def written_by(write: Callable[[Any], bytes]) -> Callable[[Exchange], Exchange]:
    return lambda exchange: with_json(exchange, write)


def carried_by(edit: Callable[[Response], Response]) -> Callable[[Exchange], Exchange]:
    return lambda exchange: with_response(exchange, edit)


VARIATIONS: dict[str, Callable[[Exchange], Exchange]] = {
    **{name: changed_by(edit) for name, edit in BYTES.items()},
    **{name: written_by(write) for name, write in JSON.items()},
    **{name: carried_by(edit) for name, edit in TRANSPORT.items()},
    **{name: with_streams(change) for name, change in STREAMS.items()},
    "U+2028 for spaces": separators,
}
