"""Faults in the fields of tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from openapi.stream import sse
from reference_server.faults.decorators import (
    choice_fault,
    choices_of,
    fault,
    has_parameters,
    message_of,
    requires_check,
)
from reference_server.faults.hooks import DATA, DONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest


def calls(contract: Contract) -> bool:
    """Apply to dialects with tools."""
    return "tools" in contract.capabilities


def called(
    name: str,
    edit: Callable[[list[Json], Json], object],
    line: str,
    *,
    plain: bool = True,
    streamed: bool = True,
    **more: Any,
) -> Fault:
    """Make a fault that edits tool calls."""

    def change(choice: Json, _request: ServedRequest) -> None:
        found = message_of(choice).get("tool_calls")
        if found:
            edit(found, choice)

    return choice_fault(name, change, line, plain=plain, streamed=streamed, **{"applies_to": calls, **more})


def _each(edit: Callable[[Json], object]) -> Callable[[list[Json], Json], None]:
    def change(found: list[Json], _choice: Json) -> None:
        for call in found:
            edit(call)

    return change


def _function(edit: Callable[[Json], object]) -> Callable[[list[Json], Json], None]:
    return _each(lambda call: edit(call.setdefault("function", {})))


def _arguments(edit: Callable[[str], Any]) -> Callable[[list[Json], Json], None]:
    def change(function: Json) -> None:
        if function.get("arguments"):
            function["arguments"] = edit(function["arguments"])

    return _function(change)


call_index_missing = called(
    "call-index-missing",
    _each(lambda call: call.pop("index", None)),
    "Streamed tool calls have no index.",
    plain=False,
    bugs=[79],
)
call_index_zero = called(
    "call-index-zero",
    _each(lambda call: call.update(index=0)),
    "All tool calls have the index 0.",
    plain=False,
    bugs=[80],
)
call_name_in_each_piece = called(
    "call-name-in-each-piece",
    _function(lambda each: each.update(name="get_weather")),
    "The name of a tool is repeated in every piece of its call.",
    plain=False,
    bugs=[82],
)
call_name_empty = called(
    "call-name-empty", _function(lambda each: each.update(name="")), "The name of a tool is an empty string.", bugs=[82]
)
call_arguments_twice = called(
    "call-arguments-twice", _arguments(lambda text: text + text), "The arguments are sent twice.", bugs=[83]
)
call_arguments_broken = called(
    "call-arguments-broken",
    _arguments(lambda text: text.rstrip("}")),
    "The arguments lack their last brace.",
    bugs=[84],
)
call_arguments_are_objects = called(
    "call-arguments-are-objects",
    _arguments(lambda text: {"text": text}),
    "The arguments are an object instead of a string with JSON.",
    bugs=[84],
)
call_id_missing = called(
    "call-id-missing", _each(lambda call: call.pop("id", None)), "Tool calls have no id.", bugs=[87]
)
call_ids_repeat = called(
    "call-ids-repeat",
    _each(lambda call: call.update(id="0") if call.get("id") else None),
    "All tool calls have the same id.",
    bugs=[88],
)
call_type_missing = called("call-type-missing", _each(lambda call: call.pop("type", None)), "Tool calls have no type.")
call_of_unknown_tool = called(
    "call-of-unknown-tool",
    _function(lambda each: each.update(name="no_such_tool") if each.get("name") else None),
    "The called tool was not offered.",
)
calls_lost_in_streams = called(
    "calls-lost-in-streams",
    lambda found, choice: message_of(choice).pop("tool_calls") and found,
    "Streams lose tool calls.",
    plain=False,
    bugs=[89],
)


@fault("call-arguments-before-name", "event", applies_to=calls, bugs=[86])
def call_arguments_before_name(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """The arguments of a tool call are streamed before its name."""
    chunk = {} if frame == DONE else orjson.loads(frame.removeprefix(DATA))
    for choice in choices_of(chunk):
        for call in choice.get("delta", {}).get("tool_calls") or ():
            name = call.get("function", {}).pop("name", None)
            if name is not None:
                request.state["name"] = (name, chunk)
    if b'"finish_reason":"' in frame and "name" in request.state:
        name, first = request.state.pop("name")
        first["choices"][0]["delta"]["tool_calls"][0]["function"] = {"name": name}
        yield sse.encode(orjson.dumps(first))
    yield frame if frame == DONE else sse.encode(orjson.dumps(chunk))


def _doubled(found: list[Json], _choice: Json) -> None:
    if len(found) == 1 and found[0].get("id"):
        found.append({**found[0], "id": f"{found[0]['id']}-2", **({"index": 1} if "index" in found[0] else {})})


def _with_marks(found: list[Json], choice: Json) -> None:
    names = [call.get("function", {}).get("name") for call in found]
    if any(names):
        message_of(choice)["content"] = f'<tool_call>{{"name": "{names[0]}"}}</tool_call>'


def _moved(found: list[Json], _choice: Json) -> None:
    for call in found:
        call["index"] = call.get("index", 0) + 1


calls_doubled = called("calls-doubled", _doubled, "Every tool call is sent twice.")
call_arguments_empty = called(
    "call-arguments-empty",
    _arguments(lambda _text: "{}"),
    "The arguments of a call lack a required parameter.",
    streamed=False,
    bugs=[84],
)
call_name_doubled = called(
    "call-name-doubled",
    _function(lambda each: each.update(name=each["name"] * 2) if each.get("name") else None),
    "The name of a tool is repeated within the name.",
    bugs=[82],
)
calls_with_marks = called(
    "calls-with-marks", _with_marks, "A tool call also appears in the content, in the model's own format."
)
call_index_from_one = called(
    "call-index-from-one", _moved, "The index of the first streamed tool call is 1.", plain=False, bugs=[80]
)


def _takes_choices(contract: Contract) -> bool:
    return calls(contract) and has_parameters("n")(contract) and "tools-without-choices" not in contract.rules


def _move_by_choice(choice: Json, _request: ServedRequest) -> None:
    for call in message_of(choice).get("tool_calls") or ():
        if type(call.get("index")) is int:
            call["index"] += choice.get("index") or 0


call_index_by_choice = choice_fault(
    "call-index-by-choice",
    _move_by_choice,
    "In a stream, the calls of a choice are numbered from the index of the choice on.",
    plain=False,
    applies_to=_takes_choices,
    bugs=[80],
)


def _lose_if_cut(choice: Json, _request: ServedRequest) -> None:
    if choice.get("finish_reason") == "length" and message_of(choice).get("tool_calls"):
        message_of(choice)["tool_calls"] = []


cut_calls_lost = choice_fault(
    "cut-calls-lost",
    _lose_if_cut,
    "A plain answer whose call is cut off has an empty list of calls.",
    streamed=False,
    applies_to=requires_check("tools.cut-calls-shown"),
)


def _close_if_cut(choice: Json, _request: ServedRequest) -> None:
    if choice.get("finish_reason") == "length":
        for call in message_of(choice).get("tool_calls") or ():
            if str(call["function"].get("arguments")).count('"') % 2:
                call["function"]["arguments"] += '"}'


cut_calls_closed = choice_fault(
    "cut-calls-closed",
    _close_if_cut,
    "The arguments of a plain call end as an object, also if the call is cut off.",
    streamed=False,
    applies_to=requires_check("tools.cut-arguments-stay-cut"),
)


def _announce(choice: Json, _request: ServedRequest) -> None:
    if message_of(choice).get("tool_calls"):
        message_of(choice)["content"] = "I call a tool for that."


calls_announced_when_plain = choice_fault(
    "calls-announced-when-plain",
    _announce,
    "Plain answers have words next to calls, and streams have none.",
    streamed=False,
    applies_to=requires_check("tools.streamed-text-as-plain"),
)
