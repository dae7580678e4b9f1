"""What every document allows: a server may do each of these, and nobody may be blamed for it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi import sse
from reference_server.faults.decorators import at_seams, choices_of, fault, spoken
from reference_server.faults.seams import DONE, FRAME_END

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from reference_server.faults.fault import Fault
    from reference_server.faults.seams import Head, Json, Told

MARK: Final = b"\xef\xbb\xbf"
EXTRA: Final[Json] = {"x_note": "extra", "x_list": [1, {"deep": None}]}
DATA: Final = b"data: "


def allowed(name: str, line: str, **seams: Any) -> Fault:
    """A variation at some seams."""
    return at_seams(name, line, benign=True, **seams)


def _bytes(name: str, line: str, edit: Callable[[bytes], bytes], **more: Any) -> Fault:
    """Every event of a stream written otherwise."""
    return allowed(name, line, event=lambda frame, _told: [edit(frame)], **more)


def _written(name: str, line: str, write: Callable[[Any], bytes]) -> Fault:
    """Every JSON object written otherwise, in plain answers, chunks and refusals."""

    def event(frame: bytes, _told: Told) -> Iterable[bytes]:
        return [frame if frame == DONE else sse.encode(write(orjson.loads(frame.removeprefix(DATA))))]

    return allowed(
        name,
        line,
        body=None,
        event=event,
        plain=lambda body, _told: write(orjson.loads(body)),
        refusal=lambda _head, body, _told: write(body),
    )


def _headed(name: str, line: str, edit: Callable[[Head], object], **more: Any) -> Fault:
    return allowed(name, line, head=lambda head, _told: edit(head), everywhere=True, **more)


def _typed(name: str, line: str, edit: Callable[[str], str]) -> Fault:
    def change(head: Head) -> None:
        if "content-type" in head.headers:
            head.headers["content-type"] = edit(head.headers["content-type"])

    return _headed(name, line, change)


def _said(name: str, line: str, edit: Callable[[Json], object]) -> Fault:
    """Every message and delta otherwise."""

    def change(holder: Json, _told: Told) -> None:
        for choice in choices_of(holder):
            edit(spoken(choice))

    return allowed(name, line, answer=change, chunk=change)


line_ends_crlf = _bytes("line-ends-crlf", "Lines end in CRLF.", lambda frame: frame.replace(b"\n", b"\r\n"))
line_ends_cr = _bytes("line-ends-cr", "Lines end in CR.", lambda frame: frame.replace(b"\n", b"\r"))
comments_before = _bytes(
    "comments-before-events",
    "A comment comes before every event.",
    lambda frame: b": keep-alive\n\n" + frame,
    bugs=[6],
)
comments_inside = _bytes("comments-inside-events", "An event begins with a comment.", lambda frame: b":\n" + frame)
comments_bare = _bytes("comments-bare", "Bare colons keep the connection alive.", lambda frame: b":\n\n" + frame)
unspaced = _bytes(
    "no-space-after-colon", "No space follows `data:`.", lambda frame: frame.replace(DATA, b"data:", 1), bugs=[4]
)
named = _bytes("events-named-message", "Events are named message.", lambda frame: b"event: message\n" + frame)
numbered = _bytes("events-with-id", "Events have an id.", lambda frame: b"id: 7\n" + frame)
retrying = _bytes("events-with-retry", "Events set the time to reconnect.", lambda frame: b"retry: 3000\n" + frame)
blank_lines = _bytes("two-blank-lines", "Two blank lines stand between events.", lambda frame: frame + b"\n")
id_after = _bytes(
    "fields-after-data", "Other fields follow the data.", lambda frame: frame[:-1] + b"id: 1\nretry: 10\n\n"
)
empty_id = _bytes("empty-id", "An empty id stands before every event.", lambda frame: b"id\n" + frame)
lines_split = _bytes(
    "json-over-lines",
    "The JSON of a chunk stands on several data lines.",
    lambda frame: frame if frame == DONE else sse.encode(json.dumps(orjson.loads(frame[6:]), indent=1)),
)


@fault("line-ends-mixed", "event", benign=True)
def line_ends_mixed(frame: bytes, _told: Told) -> Iterator[bytes]:
    """The last event ends its lines in CRLF, all others in LF."""
    yield frame.replace(b"\n", b"\r\n") if frame == DONE else frame


@fault("byte-order-mark", "event", benign=True)
def byte_order_mark(frame: bytes, told: Told) -> Iterator[bytes]:
    """A stream begins with a byte order mark."""
    yield MARK + frame if told.at == 0 else frame


@fault("comment-after-done", "event", benign=True)
def comment_after_done(frame: bytes, _told: Told) -> Iterator[bytes]:
    """A comment follows `[DONE]`."""
    yield frame
    if frame == DONE:
        yield b": bye\n\n"


@fault("byte-by-byte", "pieces", benign=True)
async def byte_by_byte(body: bytes, told: Told) -> AsyncIterator[bytes]:
    """The first events of a stream are sent byte by byte, characters cut."""
    told.memory["sent"] = told.memory.get("sent", 0) + 1
    if told.memory["sent"] > 4:
        yield body
        return
    for at in range(len(body)):
        yield body[at : at + 1]


@fault("cut-anywhere", "pieces", benign=True)
async def cut_anywhere(body: bytes, told: Told) -> AsyncIterator[bytes]:
    """Segments end within lines, and within characters."""
    held = told.memory.get("held", b"") + body
    while len(held) > 61:
        yield held[:61]
        held = held[61:]
    told.memory["held"] = held
    if body.endswith(DONE):
        yield held


@fault("three-events-a-segment", "pieces", benign=True)
async def three_events_a_segment(body: bytes, told: Told) -> AsyncIterator[bytes]:
    """Three events come in one segment."""
    held = told.memory.get("held", b"") + body
    if held.count(FRAME_END) >= 3 or held.endswith(DONE):
        yield held
        held = b""
    told.memory["held"] = held


@fault("slow-tokens", "pieces", benign=True)
async def slow_tokens(body: bytes, _told: Told) -> AsyncIterator[bytes]:
    """Tokens come slowly."""
    await asyncio.sleep(0.004)
    yield body


@fault("slow-first-token", "pieces", benign=True)
async def slow_first_token(body: bytes, told: Told) -> AsyncIterator[bytes]:
    """The first token takes half a second."""
    if not told.memory:
        told.memory["waited"] = True
        await asyncio.sleep(0.5)
    yield body


def _larger(value: Any) -> Any:
    if isinstance(value, dict):
        return {**{name: _larger(member) for name, member in value.items()}, **EXTRA}
    return [_larger(item) for item in value] if isinstance(value, list) else value


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _reversed(value[name]) for name in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


def _escaped_slashes(value: Any) -> bytes:
    return orjson.dumps(value).replace(b"/", b"\\/")


first_null = allowed(
    "content-null-at-the-end",
    "The content of the last delta is null.",
    chunk=lambda chunk, _told: [
        choice["delta"].update(content=choice["delta"].get("content") or None)
        for choice in choices_of(chunk)
        if choice.get("finish_reason")
    ],
    bugs=[39],
)
more_members = _written(
    "more-members", "Objects hold members that no document names.", lambda value: orjson.dumps(_larger(value))
)
other_order = _written(
    "members-in-another-order", "Members come in another order.", lambda value: orjson.dumps(_reversed(value))
)
sorted_members = _written(
    "members-sorted", "Members are sorted.", lambda value: orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
)
ascii_json = _written(
    "json-in-ascii", "JSON is written in ASCII, all else escaped.", lambda value: json.dumps(value).encode()
)
spaced_json = _written(
    "json-with-spaces", "JSON holds white space.", lambda value: json.dumps(value, separators=(" , ", " : ")).encode()
)
indented_json = _written(
    "json-indented",
    "JSON stands on several lines.",
    lambda value: json.dumps(value, indent=2, ensure_ascii=False).encode(),
)
escaped_slashes = _written("slashes-escaped", "Slashes are escaped.", _escaped_slashes)
trailing_newline = _written(
    "newline-after-json",
    "A line end follows the JSON.",
    lambda value: orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE),
)
padded_json = allowed(
    "spaces-around-json",
    "White space stands around the JSON of plain answers.",
    plain=lambda body, _told: b" \r\n\t" + body + b"  \n",
)

no_charset = _typed("no-charset", "Content types have no charset.", lambda value: value.partition(";")[0])
charset_tight = _typed(
    "charset-without-space",
    "The charset follows without a space.",
    lambda value: f"{value.partition(';')[0]};charset=utf-8",
)
charset_quoted = _typed(
    "charset-quoted", "The charset stands in quotes.", lambda value: f'{value.partition(";")[0]}; charset="UTF-8"'
)
type_in_capitals = _typed("type-in-capitals", "Media types are in capitals.", str.upper)
caches_untold = _headed(
    "caches-untold", "Caches are told nothing.", lambda head: head.headers.pop("cache-control", None)
)
proxies_untold = _headed(
    "proxies-untold", "Proxies are told nothing.", lambda head: head.headers.pop("x-accel-buffering", None)
)
more_headers = _headed(
    "more-headers",
    "Answers have header fields that no document names.",
    lambda head: head.headers.update(
        {"x-request-id": "7", "server": "nginx", "x-ratelimit-remaining": "99", "set-cookie": "a=b"}
    ),
)
cross_origin = _headed(
    "cross-origin",
    "Any origin may read answers, and send all header fields.",
    lambda head: head.headers.update(
        {"access-control-allow-origin": "*", "access-control-allow-headers": "authorization, content-type"}
    ),
)
no_store = _headed(
    "no-store", "Caches are told to keep nothing.", lambda head: head.headers.update({"cache-control": "no-store"})
)
said_identity = _headed(
    "says-identity",
    "Bodies are said not to be encoded.",
    lambda head: head.headers.update({"content-encoding": "identity"}),
)
closes_connections = _headed(
    "closes-connections",
    "Every answer closes its connection.",
    lambda head: head.headers.update({"connection": "close"}),
    bugs=[23],
)
length_unstated = allowed(
    "plain-in-chunks",
    "Plain answers state no length and come chunked.",
    head=lambda head, _told: head.headers.pop("content-length", None),
)


def _lengthened(_head: Head, body: Any, _told: Told) -> Any:
    for name in ("message", "error"):
        if isinstance(body, dict) and isinstance(body.get(name), str):
            return {**body, name: body[name] + " (see the documentation of this server for what is allowed)" * 3}
        if isinstance(body, dict) and isinstance(body.get(name), dict):
            return {**body, name: _lengthened(_head, body[name], _told)}
    return body


longer_messages = allowed("longer-messages", "Refusals say more than they need.", refusal=_lengthened)


def _without_calls(edit: Callable[[Json], object]) -> Callable[[Json], None]:
    """Only where no tool is called."""

    def change(said: Json) -> None:
        if not said.get("tool_calls"):
            edit(said)

    return change


_emptied = _without_calls(lambda said: said.update(tool_calls=[]))
null_calls = _said(
    "tool-calls-null", "`tool_calls` is null where there are none.", _without_calls(lambda s: s.update(tool_calls=None))
)
no_calls = _said(
    "tool-calls-absent",
    "There is no `tool_calls` where there are none.",
    _without_calls(lambda said: said.pop("tool_calls", None)),
)
empty_calls = allowed(
    "tool-calls-empty",
    "Plain answers without tool calls hold an empty list of them.",
    answer=lambda answer, _told: [_emptied(spoken(choice)) for choice in choices_of(answer)],
    bugs=[98],
)


def _one_character_each(frame: bytes, told: Told) -> Iterator[bytes]:
    """A delta of several characters as several chunks."""
    chunk = {} if frame == DONE else orjson.loads(frame.removeprefix(DATA))
    choice = (chunk.get("choices") or [{}])[0]
    text = choice.get("delta", {}).get("content") or ""
    if len(text) < 2 or choice.get("finish_reason") or choice.get("logprobs") or told.sent.get("logprobs"):
        yield frame
        return
    for char in text:
        choice["delta"] = {**choice["delta"], "content": char}
        yield sse.encode(orjson.dumps(chunk))


def _joined(frame: bytes, told: Told) -> Iterator[bytes]:
    """Two tokens in one chunk."""
    chunk = {} if frame == DONE else orjson.loads(frame.removeprefix(DATA))
    choices = chunk.get("choices") or []
    held = told.memory.pop("held", None)
    plain = len(choices) == 1 and choices[0]["finish_reason"] is None and not choices[0].get("logprobs")
    plain = plain and set(choices[0]["delta"]) <= {"role", "content"} and (told.sent.get("n") or 1) == 1
    if held is None and plain and told.at > 0:
        told.memory["held"] = frame
    elif held is not None and plain:
        first = orjson.loads(held.removeprefix(DATA))["choices"][0]["delta"].get("content") or ""
        choices[0]["delta"]["content"] = first + (choices[0]["delta"].get("content") or "")
        yield sse.encode(orjson.dumps(chunk))
    else:
        yield from (each for each in (held, frame) if each is not None)


def _with_empty(frame: bytes, told: Told) -> Iterator[bytes]:
    """A chunk whose delta holds an empty text, between two others."""
    yield frame
    if told.at == 0 and b'"finish_reason":null' in frame and (told.sent.get("n") or 1) == 1:
        chunk = orjson.loads(frame.removeprefix(DATA))
        for choice in chunk["choices"]:
            choice["delta"] = {**choice["delta"], "content": ""}
            if choice.get("logprobs"):
                choice["logprobs"] = {**choice["logprobs"], "content": []}
        yield sse.encode(orjson.dumps(chunk))


one_character_chunks = allowed("one-character-chunks", "Every chunk holds one character.", event=_one_character_each)
two_tokens_a_chunk = allowed("two-tokens-a-chunk", "A chunk holds two tokens.", event=_joined)
empty_deltas = allowed("empty-deltas", "A delta holds an empty text.", event=_with_empty)
