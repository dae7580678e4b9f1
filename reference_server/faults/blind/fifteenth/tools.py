"""Blind faults of tools: schemas that arrive in part, arguments that are converted or cut, and calls of choices."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import when
from reference_server.faults.blind.schema_recipes import drop_keywords
from reference_server.faults.blind.stream_recipes import StreamedJson, streamed_arguments_fault
from reference_server.faults.blind.tool_recipes import arguments_fault, functions_of, past_functions
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of
from reference_server.faults.request_edits import failed

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.blind.stream_recipes import PieceEdit
    from reference_server.faults.hooks import Json, ServedRequest

MOST_EXACT: Final = 2**53


def _forget_required(request: ServedRequest) -> None:
    """Convert what both formats have. Violates parameters: the properties that a call must have."""
    for function in functions_of(request.payload):
        parameters = function.get("parameters")
        if isinstance(parameters, dict):
            parameters.pop("required", None)


def _drop_branches(request: ServedRequest) -> None:
    """Know one type for each property. Violates parameters: the types that a property may have."""
    for function in functions_of(request.payload):
        drop_keywords(function.get("parameters"), "anyOf", "oneOf")


def _with_strings(value: Any, edit: Callable[[str], str]) -> Any:
    """Return JSON with edited strings."""
    if isinstance(value, dict):
        return {name: _with_strings(item, edit) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_strings(item, edit) for item in value]
    return edit(value) if isinstance(value, str) else value


def _decode_entities(arguments: str, _schemas: Json) -> str:
    """Read arguments as markup. Violates function.arguments: what the model has generated."""
    sent = json.loads(arguments)
    decoded = _with_strings(sent, html.unescape)
    return arguments if decoded == sent else json.dumps(decoded, ensure_ascii=False)


def _round(digits: str) -> int:
    return int(digits) if abs(int(digits)) <= MOST_EXACT else int(float(digits))


def _round_integers(arguments: str, _schemas: Json) -> str:
    """Read numbers as doubles. Violates function.arguments: what the model has generated."""
    rounded = json.loads(arguments, parse_int=_round)
    return arguments if rounded == json.loads(arguments) else json.dumps(rounded, ensure_ascii=False)


def _strip_pieces() -> PieceEdit:
    """Strip each piece. Violates function.arguments: what the model has generated."""
    text = StreamedJson()

    def edit(piece: str) -> str:
        is_inside = [text.is_inside(character) for character in piece]
        start, end = 0, len(piece)
        while start < end and piece[start] == " " and is_inside[start]:
            start += 1
        while start < end and piece[end - 1] == " " and is_inside[end - 1]:
            end -= 1
        return piece[start:end]

    return edit


def _has_broken_arguments(sent: Json) -> bool:
    """Whether the arguments of an earlier call cannot be parsed, as those that a limit has cut."""
    return any(_is_broken(function.get("arguments")) for function in past_functions(sent))


def _is_broken(arguments: Any) -> bool:
    try:
        json.loads(arguments)
    except TypeError:
        return False
    except ValueError:
        return bool(arguments)
    return False


def _number_through(chunk: Json, request: ServedRequest) -> None:
    """Share a parser. Violates tool_calls.index: the number of the call in its choice."""
    numbers: dict[Any, int] = request.state.setdefault("numbers", {})
    for choice in choices_of(chunk):
        for call in message_of(choice).get("tool_calls") or ():
            call["index"] = numbers.setdefault((choice.get("index"), call.get("index")), len(numbers))


required_parameters_become_optional = hooked_fault(
    "required-parameters-become-optional",
    "The list of required parameters of a tool is lost, so that a call may leave them out.",
    request=_forget_required,
    applies_to=has_parameters("tools"),
)
branches_of_parameters_lost = hooked_fault(
    "branches-of-parameters-lost",
    "anyOf and oneOf are removed from the parameters of tools, so that their values may have any type.",
    request=_drop_branches,
    applies_to=has_parameters("tools"),
)
entities_in_arguments_decoded = arguments_fault(
    "entities-in-arguments-decoded",
    "Entities of HTML in the arguments of plain answers, such as &amp;, become the character that they stand for.",
    _decode_entities,
)
large_integers_in_arguments_rounded = arguments_fault(
    "large-integers-in-arguments-rounded",
    "Integers above 2**53 in the arguments of plain answers are rounded to the next double.",
    _round_integers,
)
spaces_in_streamed_arguments_lost = streamed_arguments_fault(
    "spaces-in-streamed-arguments-lost",
    "Spaces at the ends of a piece of streamed arguments are lost if they are inside a string.",
    _strip_pieces,
)
# Violates tool_calls.function.arguments: any string, because models do not always generate JSON.
cut_past_arguments_fail = when(
    "cut-past-arguments-fail",
    "A conversation gets a 500 if the arguments of an earlier call are not JSON.",
    _has_broken_arguments,
    failed,
    applies_to=has_parameters("tools", "parallel_tool_calls"),
)
call_indexes_continue_over_choices = hooked_fault(
    "call-indexes-continue-over-choices",
    "In a stream with several choices, the index of a call counts the calls of all choices.",
    chunk=_number_through,
    applies_to=allows(tools=[NO_TOOL], n=2, temperature=1.0),
)
