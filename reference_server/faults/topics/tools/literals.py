"""Faults in calls whose arguments have unusual texts or names, and in long lists of tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi.stream.strict_json import read_json
from reference_server.faults.decorators import choices_of, hooked_fault, message_of
from reference_server.faults.request_edits import failed
from reference_server.faults.topics.tools.calls import called, calls

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

MOST_TOOLS: Final = 12
FEW_DIGITS: Final = 8


def _strings_fault(name: str, edit: Callable[[str], Any], line: str, bugs: list[int]) -> Fault:
    """Make a fault that edits the strings in the arguments of plain answers."""

    def change(found: list[Json], _choice: Json) -> None:
        for call in found:
            value = read_json(call["function"].get("arguments") or "").value
            if isinstance(value, dict):
                edited = {key: edit(item) if isinstance(item, str) else item for key, item in value.items()}
                call["function"]["arguments"] = orjson.dumps(edited).decode()

    return called(name, change, line, streamed=False, bugs=bugs)


strings_trimmed = _strings_fault(
    "call-strings-trimmed", str.strip, "White space around the strings in arguments is removed.", [200]
)
json_unpacked = _strings_fault(
    "call-strings-unpacked",
    lambda text: found if isinstance(found := read_json(text).value, (dict, list)) else text,
    "Strings in arguments that are JSON become objects or lists.",
    [201],
)


def _numbers_fault(
    name: str, line: str, *, parse_int: Callable[[str], int] = int, parse_float: Callable[[str], float] = float
) -> Fault:
    """Make a fault that reads the numbers in the arguments of plain answers in another way."""

    def change(found: list[Json], _choice: Json) -> None:
        for call in found:
            text = call["function"].get("arguments") or ""
            if isinstance(read_json(text).value, dict):
                call["function"]["arguments"] = json.dumps(
                    json.loads(text, parse_int=parse_int, parse_float=parse_float), ensure_ascii=False
                )

    return called(name, change, line, streamed=False, bugs=[200])


integers_rounded = _numbers_fault(
    "call-integers-rounded",
    "Integers in arguments are read as doubles, and written without a fraction.",
    parse_int=lambda digits: int(float(digits)),
)
decimals_rounded = _numbers_fault(
    "call-decimals-rounded",
    "Decimals in arguments are rounded to eight digits.",
    parse_float=lambda digits: float(f"{float(digits):.{FEW_DIGITS}g}"),
)


def _drop_empty(found: list[Json], _choice: Json) -> None:
    for call in found:
        value = read_json(call["function"].get("arguments") or "").value
        if isinstance(value, dict):
            kept = {key: item for key, item in value.items() if item not in ([], {})}
            call["function"]["arguments"] = json.dumps(kept, ensure_ascii=False)


empty_values_lost = called(
    "call-empty-values-lost",
    _drop_empty,
    "Empty lists and objects in the arguments of plain answers are left out.",
    streamed=False,
    bugs=[200],
)


def _end_at_balance(chunk: Json, request: ServedRequest) -> None:
    for choice in choices_of(chunk):
        for piece in message_of(choice).get("tool_calls") or ():
            function = piece.get("function") or {}
            kept = ""
            for character in function.get("arguments") or "":
                if request.state.get("ended"):
                    break
                kept += character
                level = request.state.get("level", 0) + {"{": 1, "}": -1}.get(character, 0)
                request.state.update(level=level, ended=level == 0 and character == "}")
            if "arguments" in function:
                function["arguments"] = kept


braces_counted_in_strings = hooked_fault(
    "call-braces-counted-in-strings",
    "The arguments of a stream end at the brace that balances the others, also within a string.",
    chunk=_end_at_balance,
    applies_to=calls,
    bugs=[202],
)


def _lose_named(answer: Json, _request: ServedRequest) -> None:
    for choice in choices_of(answer):
        message = message_of(choice)
        values = [read_json(call["function"].get("arguments") or "").value for call in message.get("tool_calls") or ()]
        if any(isinstance(value, dict) and "name" in value for value in values):
            message.update(tool_calls=[], content="")
            choice["finish_reason"] = "stop"


parameter_called_name = hooked_fault(
    "call-lost-by-a-parameter-name",
    "A call with an argument that is called name is lost.",
    answer=_lose_named,
    applies_to=calls,
    bugs=[203],
)


def _keep_first_tools(request: ServedRequest) -> None:
    tools = request.payload.get("tools")
    if isinstance(tools, list) and len(tools) > MOST_TOOLS:
        request.payload["tools"] = tools[:MOST_TOOLS]
        if isinstance(request.payload.get("tool_choice"), dict):
            request.payload["tool_choice"] = "auto"


later_tools_dropped = hooked_fault(
    "tools-after-the-twelfth-dropped",
    "All tools of a request except the first 12 are ignored.",
    request=_keep_first_tools,
    applies_to=calls,
    bugs=[204],
)


def _fail_on_unknown(request: ServedRequest) -> CannedResponse | None:
    choice = request.payload.get("tool_choice")
    tools = request.payload.get("tools")
    if not isinstance(choice, dict) or not isinstance(tools, list):
        return None
    known = [tool.get("function", {}).get("name") for tool in tools if isinstance(tool, dict)]
    named = choice.get("function")
    unknown = isinstance(named, dict) and isinstance(named.get("name"), str) and named["name"] not in known
    return failed(request) if unknown else None


unknown_choice_fails = hooked_fault(
    "tool-choice-unknown-500",
    "A `tool_choice` that names an unknown function gets a 500.",
    request=_fail_on_unknown,
    applies_to=calls,
    bugs=[205],
)
