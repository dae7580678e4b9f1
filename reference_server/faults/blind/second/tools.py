"""Blind faults of tools: schemas, arguments, choices and results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.faults.blind.recipes import dropping, fail, messages_of, refusing, when
from reference_server.faults.blind.tool_recipes import arguments_fault, calls_of, functions_of, properties_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

MOST_TOOLS: Final = 16
HAS_TOOLS: Final = has_parameters("tools")
CALL: Final = {"id": "call_1", "type": "function", "function": {"name": "note", "arguments": "{}"}}
TOOL: Final = {"type": "function", "function": {"name": "note", "description": "Take a note", "parameters": {}}}
QUESTION: Final = {"role": "user", "content": "Hello"}


def _as_number(value: Any) -> Any:
    if isinstance(value, str):
        try:
            number = json.loads(value)
        except ValueError:
            return value
        return number if isinstance(number, (int, float)) or number is None else value
    return value


def _unquoted(arguments: str, _schemas: Json) -> str:
    values = json.loads(arguments)
    return json.dumps({name: _as_number(value) for name, value in values.items()}, ensure_ascii=False)


def _bare_line_ends(arguments: str, _schemas: Json) -> str:
    return arguments.replace("\\n", "\n").replace("\\t", "\t")


def _lose_marked_calls(answer: Json, _request: ServedRequest) -> None:
    for choice in choices_of(answer):
        said = message_of(choice)
        calls = said.get("tool_calls") or []
        if any("</" in call["function"].get("arguments", "") for call in calls):
            said["content"] = "".join(orjson.dumps(call["function"]).decode() for call in calls)
            said["tool_calls"] = []
            choice["finish_reason"] = "stop"


def _schemas_of(sent: Json) -> list[Json]:
    schemas = [schema for function in functions_of(sent) for schema in properties_of(function).values()]
    return [schema for schema in schemas if isinstance(schema, dict)]


def _drop_enumerations(request: ServedRequest) -> None:
    for schema in _schemas_of(request.payload):
        if schema.pop("enum", None) is not None:
            schema.setdefault("type", "string")


def _lose_parts(request: ServedRequest) -> None:
    for message in messages_of(request.payload):
        if message.get("role") == "tool" and isinstance(message.get("content"), list):
            message["content"] = ""


def _has_named_choice(sent: Json) -> bool:
    return isinstance(sent.get("tool_choice"), dict)


def _any_tool(request: ServedRequest) -> None:
    request.payload["tool_choice"] = "required"


def _calls_silently(message: Json) -> bool:
    return bool(message.get("tool_calls")) and "content" not in message


def _rename(response: Json, _request: ServedRequest) -> None:
    for call in calls_of(response):
        if isinstance(call.get("name"), str):
            call["name"] = call["name"].replace("-", "_")


def _answers_a_result(sent: Json) -> bool:
    messages = messages_of(sent)
    return bool(messages) and messages[-1].get("role") == "tool"


def _calls_twice(sent: Json) -> bool:
    return any(len(message.get("tool_calls") or ()) > 1 for message in messages_of(sent))


def _keep_questions(request: ServedRequest) -> None:
    kept = [message for message in messages_of(request.payload) if message.get("role") in ("system", "user")]
    if kept:
        request.payload["messages"] = kept


strings_become_numbers = arguments_fault(
    "strings-become-numbers", "Strings in arguments that look like a number or null become one.", _unquoted
)
line_ends_bare_in_arguments = arguments_fault(
    "line-ends-bare-in-arguments", "Line ends and tabs in the strings of arguments are not escaped.", _bare_line_ends
)
marks_in_arguments_lose_calls = hooked_fault(
    "marks-in-arguments-lose-calls",
    "A call with `</` in its arguments is in the content instead.",
    answer=_lose_marked_calls,
    applies_to=HAS_TOOLS,
)
enumerations_dropped = when(
    "enumerations-dropped",
    "Enumerations are removed from the schemas of tools.",
    lambda sent: bool(sent.get("tools")),
    _drop_enumerations,
    applies_to=HAS_TOOLS,
)
seventeen_tools_refused = when(
    "seventeen-tools-refused",
    "More than 16 tools are refused.",
    lambda sent: isinstance(sent.get("tools"), list) and len(sent["tools"]) > MOST_TOOLS,
    refusing("invalid JSON: the input ends in a string"),
    applies_to=HAS_TOOLS,
)
least_items_refused = when(
    "least-items-refused",
    "A tool with `minItems` in its schema is refused.",
    lambda sent: any("minItems" in schema for schema in _schemas_of(sent)),
    refusing("the grammar does not support minItems"),
    applies_to=HAS_TOOLS,
)
tools_without_parameters_refused = when(
    "tools-without-parameters-refused",
    "A tool without `parameters` is refused.",
    lambda sent: any("parameters" not in function for function in functions_of(sent)),
    refusing("parameters is required"),
    applies_to=allows(tools=[{"type": "function", "function": {"name": "note", "description": "Take a note"}}]),
)
results_in_parts_lost = when(
    "results-in-parts-lost",
    "The result of a tool is ignored if it is a list of parts.",
    lambda sent: any(isinstance(message.get("content"), list) for message in messages_of(sent)),
    _lose_parts,
    applies_to=allows(
        messages=[
            QUESTION,
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "Done."}]},
        ]
    ),
)
any_tool_for_a_named_one = when(
    "any-tool-for-a-named-one",
    "A tool_choice that names a function allows any function.",
    _has_named_choice,
    _any_tool,
    applies_to=allows(tools=[TOOL], tool_choice="required"),
)
calls_without_content_fail = when(
    "calls-without-content-fail",
    "A history with tool calls in a message without `content` gets a 500.",
    lambda sent: any(map(_calls_silently, messages_of(sent))),
    fail,
    applies_to=allows(
        messages=[
            QUESTION,
            {"role": "assistant", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "call_1", "content": "Done."},
        ]
    ),
)
dashes_in_names_replaced = hooked_fault(
    "dashes-in-names-replaced",
    "Dashes in the names of called functions become underscores.",
    answer=_rename,
    chunk=_rename,
    applies_to=HAS_TOOLS,
)
tools_lost_after_results = when(
    "tools-lost-after-results",
    "Tools are ignored if the last message is the result of a tool.",
    _answers_a_result,
    dropping("tools", "tool_choice", "parallel_tool_calls"),
    applies_to=HAS_TOOLS,
)
several_calls_erase_the_history = when(
    "several-calls-erase-the-history",
    "If a message in the history has several tool calls, all calls and results are ignored.",
    _calls_twice,
    _keep_questions,
    applies_to=HAS_TOOLS,
)
