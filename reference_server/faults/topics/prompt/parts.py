"""Faults in which a part of a long request does not reach the model: of a message, a call, a result or a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi.stream.strict_json import read_json
from reference_server.faults.blind.validity import GREETING, allows
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.hooks import Json, ServedRequest

KEYWORDS: Final = frozenset({"description", "type", "properties", "required", "nullable"})
VERY_LONG: Final = 12_000  # characters
LONG_PART: Final = 5_000
LONGEST_STRING: Final = 1_000
LONGEST_ARGUMENTS: Final = 2_000
HAS_TOOLS: Final = has_parameters("tools")


def _messages(request: ServedRequest, role: str) -> list[Json]:
    messages = request.payload.get("messages")
    rows = messages if isinstance(messages, list) else []
    return [message for message in rows if isinstance(message, dict) and message.get("role") == role]


def _schemas(request: ServedRequest) -> list[Json]:
    """Return the properties of each tool's parameters."""
    tools = request.payload.get("tools")
    found: list[Any] = []
    for tool in tools if isinstance(tools, list) else ():
        function = tool.get("function") if isinstance(tool, dict) else None
        parameters = function.get("parameters") if isinstance(function, dict) else None
        found.append(parameters.get("properties") if isinstance(parameters, dict) else None)
    return [properties for properties in found if isinstance(properties, dict)]


def _flatten(request: ServedRequest) -> None:
    for properties in _schemas(request):
        for schema in properties.values():
            if isinstance(schema, dict) and "type" in schema:
                schema.pop("properties", None)


def _hide_keywords(request: ServedRequest) -> None:
    for properties in _schemas(request):
        for name in KEYWORDS & properties.keys():
            del properties[name]


def _keep_last_part(request: ServedRequest) -> None:
    for message in _messages(request, "user"):
        if isinstance(message.get("content"), list):
            message["content"] = message["content"][-1:]


def _forget_arguments(request: ServedRequest) -> None:
    for message in _messages(request, "assistant"):
        for call in message.get("tool_calls") or ():
            if isinstance(call, dict) and isinstance(call.get("function"), dict):
                call["function"]["arguments"] = "{}"


def _calls(request: ServedRequest) -> list[Json]:
    """Return the functions of earlier calls."""
    calls = [call for message in _messages(request, "assistant") for call in message.get("tool_calls") or ()]
    functions = [call.get("function") for call in calls if isinstance(call, dict)]
    return [function for function in functions if isinstance(function, dict)]


def _cut_strings(value: Any) -> Any:
    """Return JSON whose strings have lost what follows their first 1,000 characters."""
    if isinstance(value, dict):
        return {name: _cut_strings(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_cut_strings(item) for item in value]
    return value[:LONGEST_STRING] if isinstance(value, str) else value


def _cut_arguments(request: ServedRequest) -> None:
    for function in _calls(request):
        reading = read_json(function.get("arguments") or "")
        if not reading.error:
            function["arguments"] = orjson.dumps(_cut_strings(reading.value)).decode()


def _cut_results(request: ServedRequest) -> None:
    for message in _messages(request, "tool"):
        if isinstance(message.get("content"), str):
            message["content"] = message["content"][:LONGEST_ARGUMENTS]


def _name_one(request: ServedRequest) -> None:
    for function in _calls(request):
        function["name"] = "get_weather"


def _keep_last_result(request: ServedRequest) -> None:
    for message in _messages(request, "tool")[:-1]:
        message["content"] = "done"


def _keep_first_of_each_id(request: ServedRequest) -> None:
    first: dict[str, object] = {}
    for message in _messages(request, "tool"):
        message["content"] = first.setdefault(str(message.get("tool_call_id")), message.get("content"))


def _unread(name: str, line: str, change: Callable[[ServedRequest], None], **options: Any) -> Any:
    return hooked_fault(name, line, request=change, applies_to=HAS_TOOLS, **options)


nested_schemas_unread = _unread(
    "nested-schemas-unread", "The properties of objects in a tool's parameters are dropped.", _flatten, bugs=[180]
)
reserved_names_unread = _unread(
    "reserved-names-unread",
    "A tool's parameters that are named like a keyword of schemas are dropped.",
    _hide_keywords,
    bugs=[181],
)
last_part_read = _unread(
    "last-part-read", "Of a message in several parts only the last is read.", _keep_last_part, bugs=[182]
)
arguments_unread = _unread(
    "past-arguments-unread", "The arguments of earlier calls do not reach the model.", _forget_arguments, bugs=[183]
)
earlier_results_unread = _unread(
    "earlier-results-unread", "Of several results of tools only the last reaches the model.", _keep_last_result
)

long_arguments_cut = _unread(
    "past-strings-end-early",
    "The strings in arguments of earlier calls lose what follows their first 1,000 characters.",
    _cut_arguments,
)
long_results_cut = _unread(
    "past-results-end-early", "The results of tools lose what follows their first 2,000 characters.", _cut_results
)
names_of_calls_unread = _unread(
    "names-of-past-calls-unread", "Each call of an earlier turn reaches the model as one of the same tool.", _name_one
)
first_results_of_ids_read = _unread(
    "ids-keep-their-first-result",
    "If a later call has the id of an earlier one, the result of the earlier one is read in its place.",
    _keep_first_of_each_id,
)


def _merge_equal_turns(request: ServedRequest) -> None:
    rows = request.payload.get("messages")
    if isinstance(rows, list):
        request.payload["messages"] = [row for at, row in enumerate(rows) if row not in rows[:at]] or rows


def _merge_repeated(request: ServedRequest) -> None:
    rows = request.payload.get("messages")
    if isinstance(rows, list):
        request.payload["messages"] = [row for at, row in enumerate(rows) if not at or row != rows[at - 1]]


def _lose_middle(request: ServedRequest) -> None:
    for message in _messages(request, "user"):
        text = message.get("content")
        if isinstance(text, str) and len(text) > VERY_LONG:
            message["content"] = text[:LONG_PART] + text[-LONG_PART:]


def _read_known_roles(request: ServedRequest) -> None:
    rows = request.payload.get("messages")
    if isinstance(rows, list) and (kept := [row for row in rows if row not in _messages(request, "developer")]):
        request.payload["messages"] = kept


equal_turns_read_once = hooked_fault(
    "equal-turns-read-once", "A message that equals an earlier one is dropped.", request=_merge_equal_turns
)
repeated_messages_read_once = hooked_fault(
    "repeated-messages-read-once",
    "A message that equals the one right before it is dropped.",
    request=_merge_repeated,
)
middles_of_long_prompts_lost = hooked_fault(
    "middles-of-long-prompts-lost",
    "Of a message with more than 12,000 characters, the first and the last 5,000 are read.",
    request=_lose_middle,
)
developers_unheard = hooked_fault(
    "developers-unheard",
    "Instructions of the role developer are dropped.",
    request=_read_known_roles,
    applies_to=allows(messages=[{"role": "developer", "content": "Be brief."}, *GREETING]),
)
