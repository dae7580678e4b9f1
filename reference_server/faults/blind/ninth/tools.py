"""Blind faults of tools: arguments of another form or with other keys, descriptions, and histories of calls."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import fail, messages_of, when
from reference_server.faults.blind.tool_recipes import arguments_fault, calls_of, functions_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

CAPITAL: Final = re.compile(r"(?<=[a-z0-9])([A-Z])")
NUMBER: Final = re.compile(r"\s*(-?\d+(\.\d+)?|true|false|null)\s*")


def _send_objects(answer: Json, _request: ServedRequest) -> None:
    """Send what is parsed. Violates function.arguments, which is a string of JSON."""
    for function in calls_of(answer):
        try:
            function["arguments"] = json.loads(function.get("arguments", ""))
        except ValueError:
            continue


def _send_all_so_far(chunk: Json, request: ServedRequest) -> None:
    """Send the buffer of the parser. Violates function.arguments: the pieces are JSON together."""
    for choice in choices_of(chunk):
        for call in message_of(choice).get("tool_calls") or ():
            function, key = call.get("function") or {}, f"{choice.get('index')} {call.get('index')}"
            if function.get("arguments"):
                request.state[key] = request.state.get(key, "") + function["arguments"]
                function["arguments"] = request.state[key]


def _drop_descriptions(request: ServedRequest) -> None:
    """Render names and parameters only. Violates function.description: what the function does."""
    for function in functions_of(request.payload):
        function.pop("description", None)


def _split_capitals(arguments: str, _schemas: Json) -> str:
    """Write keys with underscores. Violates parameters: the names of the properties."""
    values = json.loads(arguments)
    return json.dumps({CAPITAL.sub(r"_\1", name).lower(): value for name, value in values.items()})


def _quote_booleans(arguments: str, _schemas: Json) -> str:
    """Parse values as text. Violates parameters: a boolean is not a string."""
    values = json.loads(arguments)
    return json.dumps(
        {name: str(value).lower() if isinstance(value, bool) else value for name, value in values.items()}
    )


def _has_number_as_result(sent: Json) -> bool:
    results = [message.get("content") for message in messages_of(sent) if message.get("role") == "tool"]
    return any(isinstance(content, str) and NUMBER.fullmatch(content) for content in results)


def _fail(request: ServedRequest) -> CannedResponse:
    """Expect an object. Violates messages.content: the result of a tool is any text."""
    return fail(request)


def _forget_earlier_results(request: ServedRequest) -> None:
    """Clear results that are not new. Violates messages: the conversation so far."""
    messages = messages_of(request.payload)
    rounds = [at for at, message in enumerate(messages) if message.get("tool_calls")]
    for message in messages[: rounds[-1]] if rounds else ():
        if message.get("role") == "tool" and isinstance(message.get("content"), str):
            message["content"] = "[cleared]"


arguments_are_objects = hooked_fault(
    "arguments-are-objects",
    "The arguments of calls in plain answers are objects.",
    answer=_send_objects,
    applies_to=has_parameters("tools"),
)
arguments_so_far_in_each_piece = hooked_fault(
    "arguments-so-far-in-each-piece",
    "Each piece of a streamed call contains all of its arguments so far.",
    chunk=_send_all_so_far,
    applies_to=has_parameters("tools"),
)
descriptions_of_tools_lost = hooked_fault(
    "descriptions-of-tools-lost",
    "The descriptions of tools do not reach the model.",
    request=_drop_descriptions,
    applies_to=has_parameters("tools"),
)
capitals_in_keys_split = arguments_fault(
    "capitals-in-keys-split",
    "Capitals in the names of arguments become an underscore and a small letter in plain answers.",
    _split_capitals,
)
booleans_in_quotes = arguments_fault(
    "booleans-in-quotes", "Booleans in the arguments of plain answers are strings.", _quote_booleans
)
numbers_as_results_fail = when(
    "numbers-as-results-fail",
    "A conversation in which the result of a tool is a number, a boolean or null gets a 500.",
    _has_number_as_result,
    _fail,
    applies_to=has_parameters("tools"),
)
earlier_results_forgotten = hooked_fault(
    "earlier-results-forgotten",
    "Only the results of the latest calls reach the model.",
    request=_forget_earlier_results,
    applies_to=has_parameters("tools"),
)
