"""Blind faults of tools: pieces of streamed calls, calls that are cut, and required calls with enumerations."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import messages_of, when
from reference_server.faults.blind.schema_recipes import parts_of
from reference_server.faults.blind.stream_recipes import StreamedJson, streamed_arguments_fault
from reference_server.faults.blind.tool_recipes import functions_of
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import choice_fault, has_parameters, message_of
from reference_server.faults.request_edits import failed

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.hooks import Json, ServedRequest

SYNTAX: Final = re.compile(r'[{}\[\]":,]')
ENDS: Final = {"{": "}", "[": "]"}
EMPTY: Final = "{}"


def _precede_by_object() -> Callable[[str], str]:
    """Send the arguments that a call begins with. Violates arguments: the pieces of one JSON object."""
    pieces: list[str] = []

    def edit(piece: str) -> str:
        pieces.append(piece)
        return EMPTY + piece if len(pieces) == 1 and not piece.startswith(EMPTY) else piece

    return edit


def _repeat_values(choice: Json, request: ServedRequest) -> None:
    """Strip the markup of a call and pass the rest on. Violates delta.content, which has no part of a call."""
    said = message_of(choice)
    pieces = [(call.get("function") or {}).get("arguments") or "" for call in said.get("tool_calls") or ()]
    values = SYNTAX.sub("", "".join(pieces))
    if values.strip() and any(message.get("role") == "tool" for message in messages_of(request.payload)):
        said["content"] = (said.get("content") or "") + values


def _end_of(arguments: str) -> str:
    """Return what makes the beginning of a JSON object a whole one, or an empty string."""
    reader, open_ends, is_inside = StreamedJson(), list[str](), False
    for character in arguments:
        was_inside = reader.is_inside(character)
        is_inside = (character == '"') != was_inside or (was_inside and character != '"')
        if not was_inside and character in ENDS:
            open_ends.append(ENDS[character])
        elif not was_inside and character in ENDS.values():
            open_ends.pop()
    closing = "".join(reversed(open_ends))
    quote = '"' if is_inside else ""
    for end in (quote + closing, f"{quote}:null{closing}", f"null{closing}"):
        try:
            json.loads(arguments + end)
        except ValueError:
            continue
        return end
    return ""


def _complete(choice: Json, request: ServedRequest) -> None:
    """Repair the arguments of a call. Violates arguments: what the model has written until the limit."""
    said, so_far = message_of(choice), request.state.setdefault("arguments", {})
    for call in said.get("tool_calls") or ():
        key = (choice.get("index"), call.get("index"))
        so_far[key] = so_far.get(key, "") + ((call.get("function") or {}).get("arguments") or "")
    if choice.get("finish_reason") != "length":
        return
    ends = {index: _end_of(text) for (of, index), text in so_far.items() if of == choice.get("index")}
    added = [{"index": index, "function": {"arguments": end}} for index, end in ends.items() if end]
    if added:
        said["tool_calls"] = [*(said.get("tool_calls") or ()), *added]


def _lose_later(choice: Json, _request: ServedRequest) -> None:
    """Add pieces without an id to the first call. Violates arguments: those of each call."""
    for call in message_of(choice).get("tool_calls") or ():
        if call.get("index") and "arguments" in (call.get("function") or {}):
            call["function"]["arguments"] = ""


def _requires_enumerated(sent: Json) -> bool:
    schemas: list[Any] = [function.get("parameters") for function in functions_of(sent)]
    return sent.get("tool_choice") == "required" and any("enum" in part for part in parts_of(schemas))


streamed_arguments_begin_with_an_empty_object = streamed_arguments_fault(
    "streamed-arguments-begin-with-an-empty-object",
    "In streams, an empty object precedes the arguments of a call.",
    _precede_by_object,
)
values_of_streamed_calls_repeated_in_text = choice_fault(
    "values-of-streamed-calls-repeated-in-text",
    _repeat_values,
    "In a stream after the result of a tool, the text contains the arguments of calls without their signs of JSON.",
    plain=False,
    applies_to=has_parameters("tools"),
)
cut_arguments_completed_in_streams = choice_fault(
    "cut-arguments-completed-in-streams",
    _complete,
    "If the token limit cuts the arguments of a streamed call, the last chunk makes them valid JSON.",
    plain=False,
    applies_to=has_parameters("tools"),
)
arguments_of_later_streamed_calls_lost = choice_fault(
    "arguments-of-later-streamed-calls-lost",
    _lose_later,
    "In streams, all calls of an answer except the first have empty arguments.",
    plain=False,
    applies_to=has_parameters("tools"),
)
# Violates enum, which the parameters of any tool may have.
required_calls_with_enumerations_fail = when(
    "required-calls-with-enumerations-fail",
    "A request with tool_choice required gets a 500 if a parameter of its tools has an enumeration.",
    _requires_enumerated,
    failed,
    applies_to=allows(tools=[NO_TOOL], tool_choice="required"),
)
