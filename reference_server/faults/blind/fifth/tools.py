"""Blind faults of nested arguments, of names and ids of calls, and of calls in streams and in the history."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi.stream import sse
from reference_server.faults.blind.recipes import messages_of, when
from reference_server.faults.blind.tool_recipes import arguments_fault, calls_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of
from reference_server.faults.fault_middleware import parse_object
from reference_server.faults.hooks import DATA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reference_server.faults.hooks import Json, ServedRequest

HAS_TOOLS: Final = has_parameters("tools")
MARK: Final = "tool"


def _map_values(arguments: str, edit: Callable[[Any], Any]) -> str:
    values: Json = json.loads(arguments)
    edited = {name: edit(value) for name, value in values.items()}
    return arguments if edited == values else json.dumps(edited, ensure_ascii=False)


def _quote_objects(arguments: str, _schemas: Json) -> str:
    """Put objects in quotes. Violates function.arguments: a call with the tool's parameters."""
    return _map_values(arguments, lambda value: json.dumps(value) if isinstance(value, dict) else value)


def _unwrap(arguments: str, _schemas: Json) -> str:
    """Replace an array by its item. Violates function.arguments: a call with the tool's parameters."""
    return _map_values(arguments, lambda value: value[0] if isinstance(value, list) and len(value) == 1 else value)


def _write_as_text(chunk: Json, request: ServedRequest) -> None:
    """Move calls to the text. Violates tool_choice: required means that tools are called, in tool_calls."""
    for choice in choices_of(chunk) if request.payload.get("tool_choice") == "required" else ():
        said, opened = message_of(choice), request.state.setdefault("opened", set())
        text = ""
        for call in said.pop("tool_calls", None) or ():
            function = call.get("function") or {}
            if function.get("name"):
                text += "}, " if choice.get("index") in opened else ""
                text += f'{{"name": {json.dumps(function["name"])}, "arguments": '
                opened.add(choice.get("index"))
            text += function.get("arguments") or ""
        if choice.get("finish_reason") == "tool_calls":
            choice["finish_reason"] = "stop"
            text += "}"
        if text:
            said["content"] = (said.get("content") or "") + text


def _cut_names(chunk: Json, _request: ServedRequest) -> None:
    """Cut a name. Violates function.name: the name of the function to call."""
    for function in calls_of(chunk):
        name = function.get("name")
        if isinstance(name, str) and name.startswith(MARK) and name != MARK:
            function["name"] = name.removeprefix(MARK)


def _share_id(response: Json, request: ServedRequest) -> None:
    """Repeat the first id. Violates tool_calls.id: the id of the call, which its result names."""
    for choice in choices_of(response):
        for call in message_of(choice).get("tool_calls") or ():
            if call.get("id"):
                call["id"] = request.state.setdefault("id", call["id"])


def _has_text_and_calls(message: Json) -> bool:
    text = isinstance(message.get("content"), str) and message["content"]
    return bool(message.get("role") == "assistant" and message.get("tool_calls") and text)


def _forget_texts(request: ServedRequest) -> None:
    """Empty texts of the assistant. Violates messages: the conversation so far includes their content."""
    for message in messages_of(request.payload):
        if _has_text_and_calls(message):
            message["content"] = ""


def _end_twice(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """Add a second end. Violates finish_reason: tool_calls if the model called a tool."""
    yield frame
    chunk = parse_object(frame.removeprefix(DATA))
    choices = chunk.get("choices") or []
    if any(choice.get("finish_reason") == "tool_calls" for choice in choices):
        ended = [
            {"index": choice.get("index", 0), "delta": {"content": ""}, "finish_reason": "stop"} for choice in choices
        ]
        rest = {name: value for name, value in chunk.items() if name not in ("usage", "full_text")}
        yield sse.encode(orjson.dumps({**rest, "choices": ended}))


def _send_call_again(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Repeat a call at the end. Violates tool_calls: the calls that the model generated."""
    chunk, named = parse_object(frame.removeprefix(DATA)), isinstance(request.payload.get("tool_choice"), dict)
    choices = chunk.get("choices") or []
    for choice in choices if named and len(choices) == 1 else ():
        for call in choice["delta"].get("tool_calls") or ():
            whole = request.state.setdefault(
                "call", {**call, "function": {**call.get("function", {}), "arguments": ""}}
            )
            whole["function"]["arguments"] += (call.get("function") or {}).get("arguments") or ""
        if choice.get("finish_reason") and (whole := request.state.pop("call", None)):
            again = {**whole, "index": 1, "id": f"{whole.get('id')}_1"}
            rest = {name: value for name, value in chunk.items() if name not in ("usage", "full_text")}
            repeated = {**choice, "delta": {"tool_calls": [again]}, "finish_reason": None}
            yield sse.encode(orjson.dumps({**rest, "choices": [repeated]}))
    yield frame


def _collapse(answer: Json, _request: ServedRequest) -> None:
    """Keep one call of each tool. Violates tool_calls: the calls that the model generated."""
    for choice in choices_of(answer):
        said = message_of(choice)
        if said.get("tool_calls"):
            by_name = {(call.get("function") or {}).get("name"): call for call in said["tool_calls"]}
            said["tool_calls"] = list(by_name.values())


nested_objects_in_quotes = arguments_fault(
    "nested-objects-in-quotes",
    "Objects in the arguments of plain answers are strings that contain JSON.",
    _quote_objects,
)
single_items_unwrapped = arguments_fault(
    "single-items-unwrapped", "An array with one item in the arguments of plain answers becomes the item.", _unwrap
)
required_calls_become_text_in_streams = hooked_fault(
    "required-calls-become-text-in-streams",
    "In a stream with `tool_choice: required`, the call is JSON in the text, and the finish_reason is stop.",
    chunk=_write_as_text,
    applies_to=HAS_TOOLS,
)
names_that_begin_with_tool_cut_in_streams = hooked_fault(
    "names-that-begin-with-tool-cut-in-streams",
    "In streams, the name of a called function that begins with `tool` lacks these letters.",
    chunk=_cut_names,
    applies_to=HAS_TOOLS,
)
calls_share_one_id = hooked_fault(
    "calls-share-one-id",
    "All calls of an answer have the same id.",
    answer=_share_id,
    chunk=_share_id,
    applies_to=HAS_TOOLS,
)
texts_next_to_past_calls_forgotten = when(
    "texts-next-to-past-calls-forgotten",
    "The text of an earlier message with tool calls is not part of the prompt.",
    lambda sent: any(map(_has_text_and_calls, messages_of(sent))),
    _forget_texts,
    applies_to=HAS_TOOLS,
)
stop_follows_tool_calls = hooked_fault(
    "stop-follows-tool-calls",
    "In streams, a chunk with the finish_reason stop follows the one with tool_calls.",
    event=_end_twice,
    applies_to=HAS_TOOLS,
)
calls_of_one_tool_collapse = hooked_fault(
    "calls-of-one-tool-collapse",
    "Of several calls of the same function, a plain answer contains only the last.",
    answer=_collapse,
    applies_to=HAS_TOOLS,
)
named_calls_sent_twice_in_streams = hooked_fault(
    "named-calls-sent-twice-in-streams",
    "In a stream whose tool_choice names a function, the whole call is sent again at the end, as a second call.",
    event=_send_call_again,
    applies_to=HAS_TOOLS,
)
