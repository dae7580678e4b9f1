"""Faults in the arguments of tool calls whose schema has more types than strings, and in reading such schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from reference_server.faults.decorators import choices_of, envelope_fault, hooked_fault, message_of
from reference_server.faults.hooks import Refusal
from reference_server.faults.topics.tools.calls import called, calls

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest


def _value_fault(name: str, edit: Callable[[Any], Any], line: str) -> Fault:
    """Make a fault that edits the values of the arguments of plain answers."""

    def change(found: list[Json], _choice: Json) -> None:
        for call in found:
            arguments = orjson.loads(call["function"]["arguments"])
            call["function"]["arguments"] = orjson.dumps(
                {key: edit(value) for key, value in arguments.items()}
            ).decode()

    return called(name, change, line, streamed=False)


def _text_fault(
    name: str, edit: Callable[[str], str], line: str, *, plain: bool = True, streamed: bool = True
) -> Fault:
    """Make a fault that edits the arguments as text, in a stream piece by piece."""

    def change(found: list[Json], _choice: Json) -> None:
        for call in found:
            function = call.get("function") or {}
            if function.get("arguments"):
                function["arguments"] = edit(function["arguments"])

    return called(name, change, line, plain=plain, streamed=streamed)


integers_as_strings = _value_fault(
    "call-integers-as-strings",
    lambda value: str(value) if type(value) is int else value,
    "Integers in arguments are strings.",
)
integers_as_doubles = _value_fault(
    "call-integers-as-doubles",
    lambda value: float(value) if type(value) is int else value,
    "Integers in arguments have a point and a zero.",
)
numbers_rounded = _value_fault(
    "call-numbers-rounded",
    lambda value: int(value) if isinstance(value, float) else value,
    "Numbers in arguments lose their fraction.",
)
objects_as_strings = _value_fault(
    "call-objects-as-strings",
    lambda value: orjson.dumps(value).decode() if isinstance(value, dict) else value,
    "Nested objects in arguments are strings with JSON.",
)
lists_lose_items = _value_fault(
    "call-lists-unwrapped",
    lambda value: value[0] if isinstance(value, list) and value else value,
    "A list in arguments is replaced by its first item.",
)
booleans_capitalized = _text_fault(
    "call-booleans-capitalized",
    lambda text: text.replace("true", "True").replace("false", "False"),
    "Booleans in arguments are written as in Python.",
)
quotes_unescaped = _text_fault(
    "call-quotes-unescaped",
    lambda text: text.replace('\\"', '"'),
    "Quotation marks within the strings of arguments are not escaped.",
    streamed=False,
)
other_scripts_lost = _text_fault(
    "call-other-scripts-lost",
    lambda text: text.encode("ascii", "replace").decode(),
    "Letters outside ASCII in arguments are replaced by question marks.",
)
streamed_scripts_lost = _text_fault(
    "call-streamed-scripts-lost",
    lambda text: text.encode("ascii", "ignore").decode(),
    "Letters outside ASCII are lost from streamed arguments.",
    plain=False,
)
streamed_braces_lost = _text_fault(
    "call-streamed-braces-lost",
    lambda text: "" if text.strip() in ("}", "}}", '"}') else text,
    "A last piece of streamed arguments without letters is lost.",
    plain=False,
)


def _keep_first(found: list[Json], _choice: Json) -> None:
    for call in found:
        arguments = orjson.loads(call["function"]["arguments"])
        call["function"]["arguments"] = orjson.dumps(dict([*arguments.items()][:1])).decode()


first_argument_only = called(
    "call-first-argument-only", _keep_first, "A call has only its first argument.", streamed=False
)


def _count_one(response: Json, _request: ServedRequest) -> None:
    if isinstance(response.get("usage"), dict) and any(
        message_of(choice).get("tool_calls") for choice in choices_of(response)
    ):
        usage = response["usage"]
        usage.update(completion_tokens=1, total_tokens=usage["prompt_tokens"] + 1)


calls_count_one = envelope_fault(
    "call-counts-one", _count_one, "A tool call counts as one token.", streamed=False, applies_to=calls
)


def _count_nothing(choice: Json, request: ServedRequest) -> None:
    request.state["called"] = request.state.get("called") or bool(message_of(choice).get("tool_calls"))


def _usage_of_stream(response: Json, request: ServedRequest) -> None:
    for choice in choices_of(response):
        _count_nothing(choice, request)
    if request.state.get("called") and isinstance(response.get("usage"), dict):
        usage = response["usage"]
        usage.update(completion_tokens=0, total_tokens=usage["prompt_tokens"])


streamed_calls_uncounted = envelope_fault(
    "call-uncounted-in-streams",
    _usage_of_stream,
    "The usage of a stream counts no tokens for tool calls.",
    plain=False,
    applies_to=calls,
)


def _name_by_prefix(request: ServedRequest) -> None:
    choice = request.payload.get("tool_choice")
    if not isinstance(choice, dict) or "function" not in choice:
        return
    names = [tool["function"]["name"] for tool in request.payload.get("tools") or () if "function" in tool]
    choice["function"]["name"] = next(
        (name for name in names if choice["function"]["name"].startswith(name)), choice["function"]["name"]
    )


named_by_prefix = hooked_fault(
    "tool-named-by-prefix",
    "A tool whose name begins the name in `tool_choice` is called instead.",
    request=_name_by_prefix,
    applies_to=calls,
)


def _forget_in_streams(request: ServedRequest) -> None:
    if request.payload.get("stream"):
        request.payload.pop("parallel_tool_calls", None)


calls_at_once_in_streams = hooked_fault(
    "calls-at-once-in-streams",
    "`parallel_tool_calls: false` is ignored in streams.",
    request=_forget_in_streams,
    applies_to=lambda contract: calls(contract) and "parallel_tool_calls" in contract.parameters,
)


def _schemas(request: ServedRequest) -> list[Any]:
    """Return the parameters of the functions that a request offers."""
    tools = request.payload.get("tools")
    functions = [tool.get("function") for tool in (tools if isinstance(tools, list) else ()) if isinstance(tool, dict)]
    schemas = [function.get("parameters") for function in functions if isinstance(function, dict)]
    return [
        value
        for schema in schemas
        if isinstance(schema, dict) and isinstance(schema.get("properties"), dict)
        for value in schema["properties"].values()
    ]


def _refuse_type_lists(request: ServedRequest) -> None:
    if any(isinstance(value, dict) and isinstance(value.get("type"), list) for value in _schemas(request)):
        raise Refusal("invalid_request", "tools: type is not a string")


def _refuse_other_types(request: ServedRequest) -> None:
    known = ("string", "integer", "number", "boolean", None)
    if any(isinstance(value, dict) and value.get("type") not in known for value in _schemas(request)):
        raise Refusal("invalid_request", "tools: unknown type")


type_lists_refused = hooked_fault(
    "tool-type-lists-refused", "A schema with a list of types is refused.", request=_refuse_type_lists, applies_to=calls
)
nested_types_refused = hooked_fault(
    "tool-nested-types-refused",
    "A schema with lists or nested objects is refused.",
    request=_refuse_other_types,
    applies_to=calls,
)
