"""What a conforming server may do otherwise, as changes of a recorded exchange."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conformance.exchange import Exchange, Response, Segment
from conformance.proof.editing.responses import dump
from conformance.proof.editing.streams import Frame, edit_chunks, edit_deltas, edit_frames
from conformance.tests.proof.transport_variations import WIRE

if TYPE_CHECKING:
    from collections.abc import Callable

EXTRA: dict[str, Any] = {"x_note": "extra", "x_list": [1, {"deep": None}]}


def with_response(exchange: Exchange, edit: Callable[[Response], Response]) -> Exchange:
    """The response changed, where there is one."""
    return exchange if exchange.response is None else replace(exchange, response=edit(exchange.response))


def with_bytes(exchange: Exchange, edit: Callable[[bytes], bytes]) -> Exchange:
    """The segments of a stream changed one by one; what is no stream stays."""

    def change(response: Response) -> Response:
        return replace(
            response, segments=tuple(Segment(segment.at_s, edit(segment.data)) for segment in response.segments)
        )

    return with_response(exchange, change) if exchange.is_stream else exchange


def with_json(exchange: Exchange, write: Callable[[Any], bytes]) -> Exchange:
    """Every JSON object of the body written anew: the plain one, or that of each event."""
    if exchange.is_stream:
        if not exchange.events:
            return exchange
        return edit_frames(exchange, lambda frames: [_rewritten(frame, write) for frame in frames])
    if not isinstance(exchange.json, dict):
        return exchange
    body = write(exchange.json)
    return with_response(exchange, lambda found: replace(found, segments=(Segment(found.ended_at_s, body),)))


def _rewritten(frame: Frame, write: Callable[[Any], bytes]) -> Frame:
    return frame if frame.chunk is None else frame.saying(write(frame.chunk))


BYTES: dict[str, Callable[[bytes], bytes]] = {
    "lines end in CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "lines end in CR": lambda data: data.replace(b"\n", b"\r"),
    "a comment before every event": lambda data: re.sub(rb"(?m)^data:", b": keep-alive\n\ndata:", data),
    "a comment inside every event": lambda data: re.sub(rb"(?m)^data:", b":\ndata:", data),
    "no space after the colon": lambda data: re.sub(rb"(?m)^data: ", b"data:", data),
    "events have a name": lambda data: re.sub(rb"(?m)^data:", b"event: message\ndata:", data),
    "events have an id": lambda data: re.sub(rb"(?m)^data:", b"id: 7\ndata:", data),
    "events set the time to reconnect": lambda data: re.sub(rb"(?m)^data:", b"retry: 3000\ndata:", data),
    "pings as frameworks send them": lambda data: re.sub(
        rb"(?m)^data:", b": ping - 2026-11-22 01:00:00\r\n\r\ndata:", data
    ),
    "the time to reconnect in a block of its own": lambda data: re.sub(rb"(?m)^data:", b"retry: 3000\n\ndata:", data),
    "an id in a block of its own": lambda data: re.sub(rb"(?m)^data:", b"id: 7\n\ndata:", data),
    "an empty id and an empty name": lambda data: re.sub(rb"(?m)^data:", b"id\nevent:\ndata:", data),
    "fields behind the data": lambda data: re.sub(
        rb"(?m)^(data:.*\n)\n", rb"\1id: 7\nretry: 10\nevent: message\n\n", data
    ),
    "an empty line of data first": lambda data: re.sub(rb"(?m)^(data: \{)", rb"data\n\1", data),
    "two blank lines between events": lambda data: data.replace(b"\n\n", b"\n\n\n"),
}


def enlarged(value: Any) -> Any:
    """Unknown members in every object, at every depth."""
    if isinstance(value, dict):
        return {**{name: enlarged(member) for name, member in value.items()}, **EXTRA}
    return [enlarged(item) for item in value] if isinstance(value, list) else value


def reordered(value: Any) -> Any:
    """The members of every object the other way round."""
    if isinstance(value, dict):
        return {name: reordered(value[name]) for name in reversed(value)}
    return [reordered(item) for item in value] if isinstance(value, list) else value


def with_member(name: str, member: Any) -> Callable[[Any], bytes]:
    """Sets a member of every message and delta that says nothing in it; `...` takes it away.

    Calls and thoughts stay: an answer that lost them would be another one.
    """

    def write(value: Any) -> bytes:
        value = json.loads(json.dumps(value))
        for choice in value.get("choices") or ():
            for part in {"message", "delta"} & set(choice):
                if not choice[part].get(name):
                    choice[part].pop(name, None)
                    choice[part].update({} if member is ... else {name: member})
        return dump(value)

    return write


def without_null_reasons(value: Any) -> bytes:
    """finish_reason left out where it is null."""
    value = json.loads(json.dumps(value))
    for choice in value.get("choices") or ():
        if choice.get("finish_reason", "") is None:
            del choice["finish_reason"]
    return dump(value)


JSON: dict[str, Callable[[Any], bytes]] = {
    "unknown members in every object": lambda value: dump(enlarged(value)),
    "members in another order": lambda value: dump(reordered(value)),
    "JSON in ASCII with spaces": lambda value: json.dumps(value, separators=(" , ", " : ")).encode(),
    "JSON over several lines": lambda value: json.dumps(value, indent=1, ensure_ascii=False).encode(),
    "tool_calls absent": with_member("tool_calls", ...),
    "tool_calls null": with_member("tool_calls", None),
    "tool_calls empty": with_member("tool_calls", []),
    "reasoning_content null": with_member("reasoning_content", None),
    "finish_reason absent before the end": without_null_reasons,
}


def opened(exchange: Exchange) -> Exchange:
    """One more chunk at the start of a stream, with the role and no text, as newer servers of the vendors send it."""

    def open_choice(chunk: dict[str, Any]) -> None:
        for choice in chunk["choices"]:
            choice["delta"] = {"role": "assistant", "content": ""}
            choice.update({"logprobs": None} if "logprobs" in choice else {})

    return edit_frames(exchange, lambda frames: [frames[0].edited(open_choice), *frames])


def signed(exchange: Exchange) -> Exchange:
    """A byte order mark at the start of a stream."""
    return edit_frames(exchange, lambda frames: [replace(frames[0], raw=b"\xef\xbb\xbf" + frames[0].raw), *frames[1:]])


def pinged(exchange: Exchange) -> Exchange:
    """A comment after `[DONE]`."""
    return edit_frames(exchange, lambda frames: [*frames, replace(frames[-1], raw=b": bye\n\n")])


def in_full(exchange: Exchange) -> Exchange:
    """Cumulative deltas, the last of them with `full_text` beside it."""
    said = ""

    def lengthen(delta: dict[str, Any]) -> None:
        nonlocal said
        said += delta.get("content") or ""
        delta["content"] = said

    longer = edit_deltas(exchange, lengthen)
    return edit_chunks(longer, lambda chunk: chunk.update(full_text=said), slice(-1, None))


def in_one_chunk(exchange: Exchange) -> Exchange:
    """The whole answer in one chunk, as servers send it that search by beam."""
    said, ended = exchange.content(), exchange.finish_reason()
    if exchange.choices[0].tool_calls or exchange.choices[0].reasoning:
        return exchange

    def gather(frames: list[Frame]) -> list[Frame]:
        # The usage-only chunk, where there is one, stays as it is.
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

    return edit_frames(exchange, gather)


STREAMS: dict[str, Callable[[Exchange], Exchange]] = {
    "an opening chunk with the role": opened,
    "a byte order mark": signed,
    "a comment after the end": pinged,
    "content null in the last delta": lambda exchange: edit_deltas(
        exchange, lambda delta: delta.update(content=delta.get("content") or None)
    ),
}


def with_streams(change: Callable[[Exchange], Exchange]) -> Callable[[Exchange], Exchange]:
    """Changes the streams of one choice that went well."""

    def change_one(exchange: Exchange) -> Exchange:
        fits = exchange.is_stream and exchange.succeeded and len(exchange.choices) == 1
        return change(exchange) if fits else exchange

    return change_one


def _spaced(stop: str | list[str]) -> str | list[str]:
    return stop.replace(" ", "\u2028") if isinstance(stop, str) else [each.replace(" ", "\u2028") for each in stop]


def with_single(change: Callable[[Exchange], Exchange]) -> Callable[[Exchange], Exchange]:
    """Changes the streams of one choice that went well."""
    return with_streams(lambda exchange: change(exchange) if len(exchange.choices) == 1 else exchange)


def is_formed(exchange: Exchange) -> bool:
    """Whether the request demands a form of the answer."""
    sent = exchange.request_json
    if not isinstance(sent, dict):
        return False
    form = sent.get("response_format")
    return "structured_outputs" in sent or (isinstance(form, dict) and form.get("type") != "text")


def separators(exchange: Exchange) -> Exchange:
    """U+2028 in place of every space of a text, and of the stop text that was cut out of it.

    Between the members of JSON it is no blank: a text whose form is demanded stays.
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
                for each in (entry, *entry["top_logprobs"]):
                    each["token"] = each["token"].replace(" ", "\u2028")
                    each["bytes"] = each["bytes"] and list(bytes(each["bytes"]).replace(b" ", "\u2028".encode()))
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
    **{name: carried_by(edit) for name, edit in WIRE.items()},
    **{name: with_streams(change) for name, change in STREAMS.items()},
    "U+2028 for spaces": separators,
}
