"""Blind faults of tools: the form of calls, and definitions of tools that are refused or fail."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import fail, refusing, when
from reference_server.faults.blind.tool_recipes import calls_of, functions_of, properties_of
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

PLAIN_KEY: Final = re.compile(r"[\w-]*")
OLD_PREFIX: Final = "functions."
STRICT_TOOL: Final = {"type": "function", "function": {**NO_TOOL["function"], "strict": True}}  # type: ignore[dict-item]


def _number_calls(response: Json, _request: ServedRequest) -> None:
    """Send positions. Violates id, which is a string."""
    for choice in choices_of(response):
        for at, call in enumerate(message_of(choice).get("tool_calls") or ()):
            if call.get("id"):
                call["id"] = call.get("index", at)


def _prefix_names(chunk: Json, _request: ServedRequest) -> None:
    """Send the name of the template. Violates function.name: that of a tool of the request."""
    for function in calls_of(chunk):
        if function.get("name"):
            function["name"] = OLD_PREFIX + function["name"]


def _close_again(chunk: Json, request: ServedRequest) -> None:
    """Close an object twice. Violates function.arguments: the pieces are JSON together."""
    for choice in choices_of(chunk):
        calls = message_of(choice).get("tool_calls") or []
        for call in calls:
            request.state["index"] = call.get("index", 0)
        if choice.get("finish_reason") == "tool_calls" and "index" in request.state:
            last = {"index": request.state["index"], "function": {"arguments": "}"}}
            if calls and calls[-1].get("function"):
                calls[-1]["function"]["arguments"] = (calls[-1]["function"].get("arguments") or "") + "}"
            else:
                message_of(choice)["tool_calls"] = [*calls, last]


def _has_types_in_lists(sent: Json) -> bool:
    return any(
        isinstance(schema, dict) and isinstance(schema.get("type"), list)
        for function in functions_of(sent)
        for schema in properties_of(function).values()
    )


def _has_no_description(sent: Json) -> bool:
    return any(not function.get("description") for function in functions_of(sent))


def _fail(request: ServedRequest) -> CannedResponse:
    """Read a description that is not there. Violates function.description, which is optional."""
    return fail(request)


def _is_strict(sent: Json) -> bool:
    return any(function.get("strict") is True for function in functions_of(sent))


def _has_rare_key(sent: Json) -> bool:
    return any(not PLAIN_KEY.fullmatch(name) for function in functions_of(sent) for name in properties_of(function))


def _fail_for_keys(request: ServedRequest) -> CannedResponse:
    """Make rules of a grammar from keys. Violates parameters: a key is any string."""
    return fail(request)


ids_of_calls_are_numbers = hooked_fault(
    "ids-of-calls-are-numbers",
    "The ids of tool calls are numbers.",
    answer=_number_calls,
    chunk=_number_calls,
    applies_to=has_parameters("tools"),
)
names_of_streamed_calls_have_a_prefix = hooked_fault(
    "names-of-streamed-calls-have-a-prefix",
    "In streams, the names of called functions begin with `functions.`.",
    chunk=_prefix_names,
    applies_to=has_parameters("tools"),
)
streamed_arguments_closed_twice = hooked_fault(
    "streamed-arguments-closed-twice",
    "In streams, the arguments of the last call end with one more brace.",
    chunk=_close_again,
    applies_to=has_parameters("tools"),
)
lists_of_types_refused = when(
    "lists-of-types-refused",
    "A tool with a parameter of several types is refused.",
    _has_types_in_lists,
    refusing("cannot read an array as the type of a property"),
    applies_to=has_parameters("tools", "response_format"),
)
tools_without_descriptions_fail = when(
    "tools-without-descriptions-fail",
    "A tool without a description gets a 500.",
    _has_no_description,
    _fail,
    applies_to=allows(tools=[NO_TOOL]),
)
strict_tools_refused = when(
    "strict-tools-refused",
    "A tool with a true `strict` is refused.",
    _is_strict,
    refusing("strict: extra inputs are not permitted"),
    applies_to=allows(tools=[STRICT_TOOL]),
)
keys_with_punctuation_fail = when(
    "keys-with-punctuation-fail",
    "A tool with a parameter whose name contains a dot, a space or another sign gets a 500.",
    _has_rare_key,
    _fail_for_keys,
    applies_to=has_parameters("tools"),
)
