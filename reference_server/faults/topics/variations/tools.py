"""Variations of tool calls, of log-probabilities next to a stop string, and of JSON that a request demands."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import orjson

from openapi.stream.strict_json import read_json
from reference_server.faults.decorators import choices_of, has_parameters, message_of, variation
from reference_server.faults.hooks import Refusal
from reference_server.faults.topics.tools.calls import calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest

RARE = frozenset({"patternProperties", "propertyNames", "not", "if", "prefixItems", "dependentRequired"})


def _calls(response: Json) -> Iterator[Json]:
    for choice in choices_of(response):
        yield from message_of(choice).get("tool_calls") or ()


def _null_in_later_pieces(chunk: Json, _request: ServedRequest) -> None:
    for piece in _calls(chunk):
        piece.setdefault("id", None)
        piece.setdefault("function", {}).setdefault("name", None)


nulls_in_later_pieces = variation(
    "call-pieces-with-nulls",
    "All pieces of a streamed call except the first have null for the id and the name.",
    chunk=_null_in_later_pieces,
    applies_to=calls,
)


def _spaced(answer: Json, _request: ServedRequest) -> None:
    for call in _calls(answer):
        try:
            value = orjson.loads(call["function"]["arguments"])
        except orjson.JSONDecodeError:  # a call that is cut off
            continue
        call["function"]["arguments"] = json.dumps(value, indent=2)


arguments_indented = variation(
    "call-arguments-indented",
    "The arguments of plain answers are indented, and other characters than ASCII are escaped.",
    answer=_spaced,
    applies_to=calls,
)


def _keywords(value: Any) -> Iterator[str]:
    """Yield every key of the objects in a JSON value."""
    if isinstance(value, dict):
        yield from value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keywords(item)


def _refuse_rare(request: ServedRequest) -> None:
    if RARE.intersection(_keywords(request.payload.get("tools"))):
        raise Refusal("invalid_request", "tools: the schema has a keyword that is not supported")


rare_keywords_refused = variation(
    "tool-rare-keywords-refused",
    "A tool whose schema has a rare keyword is refused.",
    request=_refuse_rare,
    applies_to=calls,
)


def _without_stop_entries(answer: Json, request: ServedRequest) -> None:
    for choice in choices_of(answer) if request.payload.get("stop") else ():
        entries = (choice.get("logprobs") or {}).get("content") or []
        text = message_of(choice).get("content") or ""
        if choice.get("finish_reason") == "stop":
            while entries and len("".join(entry["token"] for entry in entries[:-1])) >= len(text):
                entries.pop()


stop_entries_left_out = variation(
    "stop-entries-left-out",
    "An answer that a stop string ends has no log-probabilities behind its text.",
    answer=_without_stop_entries,
    applies_to=has_parameters("logprobs"),
)


def _blank_first(answer: Json, request: ServedRequest) -> None:
    form = request.payload.get("response_format")
    if isinstance(form, dict) and form.get("type") in ("json_object", "json_schema"):
        for choice in choices_of(answer):
            message_of(choice)["content"] = f"\n {message_of(choice).get('content') or ''}"


blank_before_forms = variation(
    "forms-begin-with-white-space",
    "JSON that a request demands begins with white space in plain answers.",
    answer=_blank_first,
    applies_to=has_parameters("response_format"),
)


def _named_calls_stop(response: Json, request: ServedRequest) -> None:
    if isinstance(request.payload.get("tool_choice"), dict):
        for choice in choices_of(response):
            if choice.get("finish_reason") == "tool_calls":
                choice["finish_reason"] = "stop"


named_calls_stop = variation(
    "named-calls-end-with-stop",
    "An answer that calls the function that tool_choice names ends with stop.",
    answer=_named_calls_stop,
    chunk=_named_calls_stop,
    applies_to=calls,
)


def _close_cut_strings(answer: Json, _request: ServedRequest) -> None:
    for choice in choices_of(answer):
        for call in message_of(choice).get("tool_calls") or () if choice.get("finish_reason") == "length" else ():
            text = call["function"].get("arguments") or ""
            endings = ('"}', "}", '": null}', "null}", ": null}")
            call["function"]["arguments"] = next(
                (text + end for end in endings if not read_json(text + end).error), text
            )


cut_calls_closed = variation(
    "call-arguments-closed-where-cut",
    "The arguments of a plain call that was cut off are closed, so that they are valid JSON.",
    answer=_close_cut_strings,
    applies_to=calls,
)


def _call_as_named(answer: Json, request: ServedRequest) -> None:
    choice = request.payload.get("tool_choice")
    named = choice.get("function") if isinstance(choice, dict) else None
    for call in _calls(answer) if isinstance(named, dict) and request.state.get("unknown") else ():
        call["function"]["name"] = request.state["unknown"]


def _offer_unknown(request: ServedRequest) -> None:
    choice, tools = request.payload.get("tool_choice"), request.payload.get("tools")
    named = choice.get("function") if isinstance(choice, dict) else None
    if not isinstance(named, dict) or not isinstance(tools, list):
        return
    known = [tool.get("function", {}).get("name") for tool in tools if isinstance(tool, dict)]
    if isinstance(named.get("name"), str) and known and named["name"] not in known:
        request.state["unknown"] = named["name"]
        named["name"] = known[-1]


unknown_choice_called = variation(
    "tool-choice-unknown-called",
    "The function that tool_choice names is called, also if it is not among the tools.",
    request=_offer_unknown,
    answer=_call_as_named,
    chunk=_call_as_named,
    applies_to=calls,
)


def _refuse_odd_orders(request: ServedRequest) -> None:
    messages = request.payload.get("messages")
    roles = [item.get("role") for item in messages if isinstance(item, dict)] if isinstance(messages, list) else []
    if "system" in roles[1:] or any(before == role == "user" for before, role in pairwise(roles)):
        raise Refusal("invalid_request", "messages: the template needs alternating roles after one system message")


odd_orders_refused = variation(
    "odd-orders-of-messages-refused",
    "The template refuses a system message that is not the first, and two messages of the user in a row.",
    request=_refuse_odd_orders,
)
