"""Blind faults of tools: schemas, arguments, calls in the history and results."""

from __future__ import annotations

import hashlib
import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import fail, messages_of, refusing, when
from reference_server.faults.blind.tool_recipes import arguments_fault, calls_of, functions_of, properties_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest

HAS_TOOLS: Final = has_parameters("tools")
SHORT_ID: Final = re.compile(r"[A-Za-z0-9]{9}")
LONG_NAME: Final = 40  # characters
KEPT: Final = 31
QUESTION: Final = {"role": "user", "content": "Hello"}
CALL: Final = {"id": "call_1", "type": "function", "function": {"name": "note", "arguments": "{}"}}
ASKED: Final = {"role": "assistant", "content": "", "tool_calls": [CALL]}
DONE: Final = {"role": "tool", "tool_call_id": "call_1", "content": "Done."}


def _past_calls(sent: Json) -> Iterator[Json]:
    for message in messages_of(sent):
        yield from (call for call in message.get("tool_calls") or () if isinstance(call, dict))


def _has_long_id(sent: Json) -> bool:
    ids = [call.get("id") for call in _past_calls(sent)]
    return any(isinstance(own, str) and not SHORT_ID.fullmatch(own) for own in ids)


def _has_empty_arguments(sent: Json) -> bool:
    functions = [call.get("function") for call in _past_calls(sent)]
    return any(isinstance(function, dict) and function.get("arguments") == "" for function in functions)


def _calls_with_null(message: Json) -> bool:
    return bool(message.get("tool_calls")) and "content" in message and message["content"] is None


def _drop_null_calls(request: ServedRequest) -> None:
    messages = messages_of(request.payload)
    lost = [call.get("id") for message in messages if _calls_with_null(message) for call in message["tool_calls"]]
    kept = [message for message in messages if not _calls_with_null(message)]
    request.payload["messages"] = [message for message in kept if message.get("tool_call_id") not in lost]


def _lacks_name(sent: Json) -> bool:
    return any(message.get("role") == "tool" and not message.get("name") for message in messages_of(sent))


def _asks_after_results(sent: Json) -> bool:
    roles = [message.get("role") for message in messages_of(sent)]
    return ("tool", "user") in pairwise(roles)


def _has_open_pattern(sent: Json) -> bool:
    schemas: list[Any] = [schema for function in functions_of(sent) for schema in properties_of(function).values()]
    patterns = [schema.get("pattern") for schema in schemas if isinstance(schema, dict)]
    return any(isinstance(text, str) and not (text.startswith("^") and text.endswith("$")) for text in patterns)


def _encoded_again(arguments: str, _schemas: Json) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _null_for_nothing(arguments: str, schemas: Json) -> str:
    return arguments if schemas else "null"


def _lose_brace(chunk: Json, request: ServedRequest) -> None:
    for choice in choices_of(chunk):
        begun = request.state.setdefault("begun", set())
        for call in message_of(choice).get("tool_calls") or ():
            key, function = (choice.get("index"), call.get("index")), call.get("function") or {}
            if function.get("arguments") and key not in begun:
                begun.add(key)
                function["arguments"] = function["arguments"].removeprefix("{")


def _lose_later_ids(chunk: Json, _request: ServedRequest) -> None:
    for choice in choices_of(chunk):
        for call in message_of(choice).get("tool_calls") or ():
            if call.get("index"):
                call.pop("id", None)


def _rewrite_names(response: Json, _request: ServedRequest) -> None:
    for call in calls_of(response):
        name = call.get("name")
        if isinstance(name, str) and len(name) > LONG_NAME:
            call["name"] = f"{name[:KEPT]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


long_call_ids_fail = when(
    "long-call-ids-fail",
    "A history whose calls have ids of other than nine letters and digits gets a 500.",
    _has_long_id,
    fail,
    applies_to=HAS_TOOLS,
)
empty_past_arguments_fail = when(
    "empty-past-arguments-fail",
    "A history with a call whose arguments are an empty string gets a 500.",
    _has_empty_arguments,
    fail,
    applies_to=allows(
        messages=[
            QUESTION,
            {**ASKED, "tool_calls": [{**CALL, "function": {"name": "note", "arguments": ""}}]},
            DONE,
        ]
    ),
)
null_contents_drop_calls = when(
    "null-contents-drop-calls",
    "Earlier tool calls in a message whose content is null are ignored, and so are their results.",
    lambda sent: any(map(_calls_with_null, messages_of(sent))),
    _drop_null_calls,
    applies_to=allows(messages=[QUESTION, {**ASKED, "content": None}, DONE]),
)
results_without_names_refused = when(
    "results-without-names-refused",
    "The result of a tool is refused if it does not name the tool.",
    _lacks_name,
    refusing("function_response.name: Name cannot be empty"),
    applies_to=allows(messages=[QUESTION, ASKED, DONE]),
)
users_after_results_refused = when(
    "users-after-results-refused",
    "A message of the user is refused if it directly follows the result of a tool.",
    _asks_after_results,
    refusing("Unexpected role 'user' after role 'tool'"),
    applies_to=allows(messages=[QUESTION, ASKED, DONE, QUESTION]),
)
unanchored_patterns_refused = when(
    "unanchored-patterns-refused",
    "Tools are refused if a pattern in their schemas does not begin with `^` and end with `$`.",
    _has_open_pattern,
    refusing("Pattern must start with '^' and end with '$'"),
    applies_to=HAS_TOOLS,
)
arguments_encoded_twice = arguments_fault(
    "arguments-encoded-twice", "The arguments of plain answers are a JSON string that contains JSON.", _encoded_again
)
null_without_parameters = arguments_fault(
    "null-without-parameters",
    "The arguments of a tool without parameters are `null` in plain answers.",
    _null_for_nothing,
)
first_braces_lost_in_streams = hooked_fault(
    "first-braces-lost-in-streams",
    "The streamed arguments of a call lack their first brace.",
    chunk=_lose_brace,
    applies_to=HAS_TOOLS,
)
later_calls_lack_ids = hooked_fault(
    "later-calls-lack-ids",
    "In streams, all calls of an answer except the first have no id.",
    chunk=_lose_later_ids,
    applies_to=HAS_TOOLS,
)
long_names_rewritten = hooked_fault(
    "long-names-rewritten",
    "The name of a called function with more than 40 characters is shortened.",
    answer=_rewrite_names,
    chunk=_rewrite_names,
    applies_to=HAS_TOOLS,
)
