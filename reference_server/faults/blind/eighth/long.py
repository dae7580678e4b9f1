"""Blind faults of long requests: the middle of long messages, and many tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import when
from reference_server.faults.decorators import has_parameters, hooked_fault
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

LONGEST: Final = 1_500  # characters
KEPT: Final = 500  # characters, of either end
MOST_TOOLS: Final = 8


def _cut_middles(request: ServedRequest) -> None:
    """Keep both ends. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        if len(message["content"]) > LONGEST:
            message["content"] = message["content"][:KEPT] + message["content"][-KEPT:]


def _has_many_tools(sent: Json) -> bool:
    return isinstance(sent.get("tools"), list) and len(sent["tools"]) > MOST_TOOLS


def _keep_first_tools(request: ServedRequest) -> None:
    """Offer a part of the list. Violates tools: the functions that the model may call."""
    request.payload["tools"] = request.payload["tools"][:MOST_TOOLS]


middles_of_long_messages_lost = hooked_fault(
    "middles-of-long-messages-lost",
    "Of a message of more than 1,500 characters, only the first and the last 500 reach the model.",
    request=_cut_middles,
)
tools_after_the_eighth_lost = when(
    "tools-after-the-eighth-lost",
    "Of more than eight tools, only the first eight are offered to the model.",
    _has_many_tools,
    _keep_first_tools,
    applies_to=has_parameters("tools"),
)
