"""Blind faults of tools: arguments that are lost or escaped, results without text, and calls in an older form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import messages_of, refusing, when
from reference_server.faults.blind.tool_recipes import arguments_fault
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

CALL: Final = {"id": "call_1", "type": "function", "function": {"name": "wait", "arguments": "{}"}}
EMPTY_RESULT: Final = [
    {"role": "user", "content": "Wait."},
    {"role": "assistant", "content": "Yes.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": ""},
]


def _drop_zeros(arguments: str, _schemas: Json) -> str:
    """Leave out what is a default of a type. Violates function.arguments: what the model generates."""
    kept = {name: value for name, value in json.loads(arguments).items() if value or value is None}
    return json.dumps(kept, ensure_ascii=False)


def _escape(value: Any) -> Any:
    return value.replace("\n", "\\n") if isinstance(value, str) else value


def _escape_line_ends(arguments: str, _schemas: Json) -> str:
    """Escape a string twice. Violates function.arguments: what the model generates."""
    return json.dumps({name: _escape(value) for name, value in json.loads(arguments).items()}, ensure_ascii=False)


def _has_empty_result(sent: Json) -> bool:
    return any(message.get("role") == "tool" and message.get("content") == "" for message in messages_of(sent))


def _takes_empty_results(contract: Contract) -> bool:
    return "tools" in contract.parameters and allows(messages=EMPTY_RESULT)(contract)


def _use_older_form(answer: Json, _request: ServedRequest) -> None:
    """Answer like an older API. Violates tool_calls, which requests with tools get."""
    for choice in choices_of(answer):
        said = message_of(choice)
        if said.get("tool_calls"):
            said["function_call"] = said.pop("tool_calls")[0]["function"]
            choice["finish_reason"] = "function_call"


zeros_in_arguments_dropped = arguments_fault(
    "zeros-in-arguments-dropped",
    "Arguments that are 0, false or empty are missing in the calls of plain answers.",
    _drop_zeros,
)
line_ends_in_arguments_escaped_twice = arguments_fault(
    "line-ends-in-arguments-escaped-twice",
    "In the arguments of plain answers, a line end in a string is a backslash and the letter n.",
    _escape_line_ends,
)
# Violates content of a tool message: any text.
empty_results_refused = when(
    "empty-results-refused",
    "The result of a tool is refused if it is an empty string.",
    _has_empty_result,
    refusing("the content of a tool message must not be empty"),
    applies_to=_takes_empty_results,
)
calls_in_the_older_form = hooked_fault(
    "calls-in-the-older-form",
    "Plain answers to requests with tools have the first call as function_call in place of tool_calls.",
    answer=_use_older_form,
    applies_to=has_parameters("tools"),
)
