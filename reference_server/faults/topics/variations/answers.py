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
    """Make a variation that serializes the JSON of answers, chunks and refusals differently."""

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
    """Make a variation that edits every message and delta."""

    def change(response: Json, _request: ServedRequest) -> None:
        for choice in choices_of(response):
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
    "more-members", "Objects contain fields that no document mentions.", lambda value: orjson.dumps(_larger(value))
)
other_order = _written(
    "members-in-another-order", "Fields have another order.", lambda value: orjson.dumps(_reversed(value))
)
sorted_members = _written(
    "members-sorted", "Fields are sorted.", lambda value: orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
)
ascii_json = _written(
    "json-in-ascii", "Non-ASCII characters in JSON are escaped.", lambda value: json.dumps(value).encode()
)
spaced_json = _written(
    "json-with-spaces",
    "JSON contains white space.",
    lambda value: json.dumps(value, separators=(" , ", " : ")).encode(),
)
indented_json = _written(
    "json-indented",
    "JSON is spread over several lines.",
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
    "The JSON of plain answers is surrounded by white space.",
    plain=lambda body, _request: b" \r\n\t" + body + b"  \n",
)
no_charset = _typed("no-charset", "The Content-Type has no charset.", lambda value: value.partition(";")[0])
charset_tight = _typed(
    "charset-without-space",
    "The charset follows the media type without a space.",
    lambda value: f"{value.partition(';')[0]};charset=utf-8",
)
charset_quoted = _typed(
    "charset-quoted", "The charset is quoted.", lambda value: f'{value.partition(";")[0]}; charset="UTF-8"'
)
type_in_capitals = _typed("type-in-capitals", "Media types are in upper case.", str.upper)
caches_untold = _headed(
    "caches-untold", "Cache-Control is missing.", lambda head: head.headers.pop("cache-control", None)
)
proxies_untold = _headed(
    "proxies-untold", "X-Accel-Buffering is missing.", lambda head: head.headers.pop("x-accel-buffering", None)
)
more_headers = _headed(
    "more-headers",
    "Answers have headers that no document mentions.",
    lambda head: head.headers.update(
        {"x-request-id": "7", "server": "nginx", "x-ratelimit-remaining": "99", "set-cookie": "a=b"}
    ),
)
cross_origin = _headed(
    "cross-origin",
    "CORS allows every origin and every header.",
    lambda head: head.headers.update(
        {"access-control-allow-origin": "*", "access-control-allow-headers": "authorization, content-type"}
    ),
    applies_to=lambda contract: contract.auth == "none",  # a preflight request has no key, and would be refused
)
no_store = _headed(
    "no-store", "Cache-Control is no-store.", lambda head: head.headers.update({"cache-control": "no-store"})
)
said_identity = _headed(
    "says-identity",
    "Content-Encoding is identity.",
    lambda head: head.headers.update({"content-encoding": "identity"}),
)
closes_connections = _headed(
    "closes-connections",
    "The connection is closed after every answer.",
    lambda head: head.headers.update({"connection": "close"}),
    bugs=[23],
)
length_unstated = variation(
    "plain-in-chunks",
    "Plain answers use chunked transfer encoding without a Content-Length.",
    head=lambda head, _request: head.headers.pop("content-length", None),
)


def _lengthened(_head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    for name in ("message", "error"):
        if isinstance(body, dict) and isinstance(body.get(name), str):
            return {**body, name: body[name] + " (see the documentation of this server for what is allowed)" * 3}
        if isinstance(body, dict) and isinstance(body.get(name), dict):
            return {**body, name: _lengthened(_head, body[name], _request)}
    return body


longer_messages = variation("longer-messages", "The messages of refusals are longer.", refusal=_lengthened)


def _without_calls(edit: Callable[[Json], object]) -> Callable[[Json], None]:
    """Apply an edit only to answers without tool calls."""

    def change(said: Json) -> None:
        if not said.get("tool_calls"):
            edit(said)

    return change


_emptied = _without_calls(lambda said: said.update(tool_calls=[]))
null_calls = _said(
    "tool-calls-null", "`tool_calls` is null if no tool is called.", _without_calls(lambda s: s.update(tool_calls=None))
)
no_calls = _said(
    "tool-calls-absent",
    "`tool_calls` is missing if no tool is called.",
    _without_calls(lambda said: said.pop("tool_calls", None)),
)
empty_calls = variation(
    "tool-calls-empty",
    "`tool_calls` is an empty list if no tool is called.",
    answer=lambda answer, _request: [_emptied(message_of(choice)) for choice in choices_of(answer)],
    bugs=[98],
)
