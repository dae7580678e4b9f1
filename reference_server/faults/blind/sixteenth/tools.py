"""Blind faults of tools: lists in arguments, letters in streams, and calls of earlier turns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import messages_of
from reference_server.faults.blind.stream_recipes import streamed_arguments_fault
from reference_server.faults.blind.tool_recipes import arguments_fault
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.blind.stream_recipes import PieceEdit
    from reference_server.faults.hooks import Json, ServedRequest

LAST_ASCII: Final = "\x7f"


def _quote_lists(arguments: str, _schemas: Json) -> str:
    """Know text and numbers. Violates function.arguments: what the model has generated."""
    sent = json.loads(arguments)
    quoted = {
        name: json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
        for name, value in sent.items()
    }
    return arguments if quoted == sent else json.dumps(quoted, ensure_ascii=False)


def _decode_bytes() -> PieceEdit:
    """Decode each byte alone. Violates function.arguments: what the model has generated."""
    return lambda piece: "".join(character if character <= LAST_ASCII else "\ufffd" for character in piece)


def _keep_first_calls(request: ServedRequest) -> None:
    """Read one call. Violates tool_calls: each of them is part of the conversation."""
    for message in messages_of(request.payload):
        calls = message.get("tool_calls")
        if isinstance(calls, list) and len(calls) > 1:
            message["tool_calls"] = calls[:1]


lists_in_arguments_in_quotes = arguments_fault(
    "lists-in-arguments-in-quotes",
    "A list in the arguments of a plain answer becomes a string that contains the list as JSON.",
    _quote_lists,
)
foreign_letters_in_streamed_arguments_replaced = streamed_arguments_fault(
    "foreign-letters-in-streamed-arguments-replaced",
    "Characters beyond ASCII in the arguments of a stream become U+FFFD.",
    _decode_bytes,
)
later_past_calls_unread = hooked_fault(
    "later-past-calls-unread",
    "Of several calls in an earlier message, only the first reaches the model. All results do.",
    request=_keep_first_calls,
    applies_to=has_parameters("tools"),
)
