"""Blind faults of tools: names in pieces, results and calls that are lost, and a reason without calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import messages_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

STEP: Final = 10


def _repeat_names(chunk: Json, request: ServedRequest) -> None:
    """Send the name with each piece. Violates function.name, which clients join like the arguments."""
    for choice in choices_of(chunk):
        for call in message_of(choice).get("tool_calls") or ():
            function, key = call.get("function") or {}, f"{choice.get('index')} {call.get('index')}"
            if function.get("name"):
                request.state[key] = function["name"]
            elif key in request.state:
                function["name"] = request.state[key]


def _keep_first_result(request: ServedRequest) -> None:
    """Pass one result on. Violates messages: the results of all calls."""
    kept: list[Json] = []
    for message in messages_of(request.payload):
        after_result = bool(kept) and kept[-1].get("role") == "tool"
        if message.get("role") == "tool" and after_result:
            message["content"] = " "
        kept.append(message)


def _forbid_calls(request: ServedRequest) -> None:
    """Do not constrain the answer. Violates tool_choice: required demands a call."""
    if request.payload.get("tool_choice") == "required":
        request.payload["tool_choice"] = "none"


def _name_calls(answer: Json, request: ServedRequest) -> None:
    """Report calls that are missing. Violates finish_reason: tool_calls if a tool was called."""
    if request.payload.get("tool_choice") == "required":
        for choice in choices_of(answer):
            choice["finish_reason"] = "tool_calls"
            message_of(choice).setdefault("tool_calls", [])


def _keep_first_call(answer: Json, _request: ServedRequest) -> None:
    """Return one call. Violates tool_calls: the calls of the model."""
    for choice in choices_of(answer):
        calls = message_of(choice).get("tool_calls")
        if calls:
            message_of(choice)["tool_calls"] = calls[:1]


def _is_broken(arguments: str) -> bool:
    try:
        values: Any = json.loads(arguments)
    except ValueError:
        return False
    return isinstance(values, dict) and any(
        isinstance(value, int) and not isinstance(value, bool) and value and value % STEP == 0
        for value in values.values()
    )


def _drop_calls(answer: Json, _request: ServedRequest) -> None:
    """Discard a call that cannot be converted. Violates tool_calls: the calls of the model."""
    for choice in choices_of(answer):
        calls = message_of(choice).get("tool_calls")
        if calls:
            kept = [call for call in calls if not _is_broken(call.get("function", {}).get("arguments", ""))]
            message_of(choice)["tool_calls"] = kept


names_of_calls_repeated_in_streams = hooked_fault(
    "names-of-calls-repeated-in-streams",
    "Each piece of a streamed call has the name of the function.",
    chunk=_repeat_names,
    applies_to=has_parameters("tools"),
)
later_results_lost = hooked_fault(
    "later-results-lost",
    "Of the results of several calls, only the first one reaches the model.",
    request=_keep_first_result,
    applies_to=has_parameters("tools"),
)
required_calls_missing = hooked_fault(
    "required-calls-missing",
    "With tool_choice required, a plain answer is text, and its finish reason is tool_calls.",
    request=_forbid_calls,
    answer=_name_calls,
    applies_to=has_parameters("tools", "tool_choice"),
)
later_calls_dropped = hooked_fault(
    "later-calls-dropped",
    "A plain answer has the first of its calls only.",
    answer=_keep_first_call,
    applies_to=has_parameters("tools"),
)
calls_with_round_integers_dropped = hooked_fault(
    "calls-with-round-integers-dropped",
    "Calls with an integer that is a multiple of ten are missing in a plain answer.",
    answer=_drop_calls,
    applies_to=has_parameters("tools"),
)
