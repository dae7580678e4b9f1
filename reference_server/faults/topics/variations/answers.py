"""Variations of answers and headers that every document allows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi.stream import sse
from reference_server.faults.decorators import choices_of, message_of, variation
from reference_server.faults.hooks import DATA, DONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

EXTRA: Final[Json] = {"x_note": "extra", "x_list": [1, {"deep": None}]}


def _written(name: str, line: str, write: Callable[[Any], bytes]) -> Fault:
    """Every JSON object written otherwise, in plain answers, chunks and refusals."""

    def event(frame: bytes, _request: ServedRequest) -> Iterable[bytes]:
        return [frame if frame == DONE else sse.encode(write(orjson.loads(frame.removeprefix(DATA))))]

    return variation(
        name,
        line,
        body=None,
        event=event,
        plain=lambda body, _request: write(orjson.loads(body)),
        refusal=lambda _head, body, _request: write(body),
    )


def _headed(name: str, line: str, edit: Callable[[ResponseHead], object], **more: Any) -> Fault:
    return variation(name, line, head=lambda head, _request: edit(head), everywhere=True, **more)


def _typed(name: str, line: str, edit: Callable[[str], str]) -> Fault:
    def change(head: ResponseHead) -> None:
        if "content-type" in head.headers:
            head.headers["content-type"] = edit(head.headers["content-type"])

    return _headed(name, line, change)


def _said(name: str, line: str, edit: Callable[[Json], object]) -> Fault:
    """Every message and delta otherwise."""

    def change(holder: Json, _request: ServedRequest) -> None:
        for choice in choices_of(holder):
            edit(message_of(choice))

    return variation(name, line, answer=change, chunk=change)


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


first_null = variation(
    "content-null-at-the-end",
    "The content of the last delta is null.",
    chunk=lambda chunk, _request: [
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
padded_json = variation(
    "spaces-around-json",
    "White space stands around the JSON of plain answers.",
    plain=lambda body, _request: b" \r\n\t" + body + b"  \n",
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
length_unstated = variation(
    "plain-in-chunks",
    "Plain answers state no length and come chunked.",
    head=lambda head, _request: head.headers.pop("content-length", None),
)


def _lengthened(_head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    for name in ("message", "error"):
        if isinstance(body, dict) and isinstance(body.get(name), str):
            return {**body, name: body[name] + " (see the documentation of this server for what is allowed)" * 3}
        if isinstance(body, dict) and isinstance(body.get(name), dict):
            return {**body, name: _lengthened(_head, body[name], _request)}
    return body


longer_messages = variation("longer-messages", "Refusals say more than they need.", refusal=_lengthened)


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
empty_calls = variation(
    "tool-calls-empty",
    "Plain answers without tool calls hold an empty list of them.",
    answer=lambda answer, _request: [_emptied(message_of(choice)) for choice in choices_of(answer)],
    bugs=[98],
)
