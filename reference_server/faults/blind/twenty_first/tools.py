"""Blind faults of tools: results after one another, names that begin alike, and tools without a description."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import messages_of, refusing, when
from reference_server.faults.blind.tool_recipes import calls_of, functions_of
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _keep_first_results(request: ServedRequest) -> None:
    """Expect one result after each message with calls. Violates the role tool: the result of each call is read."""
    kept: list[Json] = []
    for message in messages_of(request.payload):
        follows = bool(kept) and kept[-1].get("role") == "tool"
        if not (follows and message.get("role") == "tool"):
            kept.append(message)
    if kept:
        request.payload["messages"] = kept


def _shorten_names(response: Json, request: ServedRequest) -> None:
    """Take the first name that the text begins with. Violates function.name: the function that the model calls."""
    names = sorted({str(function.get("name")) for function in functions_of(request.payload)}, key=len)
    for call in calls_of(response):
        said = call.get("name")
        if isinstance(said, str) and said:
            call["name"] = next((name for name in names if said.startswith(name)), said)


def _has_undescribed_tool(sent: Json) -> bool:
    return any(not function.get("description") for function in functions_of(sent))


later_results_of_calls_lost = hooked_fault(
    "later-results-of-calls-lost",
    "Of several results that follow one another, the model sees the first one only.",
    request=_keep_first_results,
    applies_to=has_parameters("tools"),
)
shorter_names_of_tools_win = hooked_fault(
    "shorter-names-of-tools-win",
    "If the name of a tool begins with the name of another one, a call of it names the other one.",
    answer=_shorten_names,
    chunk=_shorten_names,
    applies_to=has_parameters("tools"),
)
# Violates function.description, which is optional.
undescribed_tools_refused = when(
    "undescribed-tools-refused",
    "A request is refused if one of its tools has no description.",
    _has_undescribed_tool,
    refusing("tools: a description must have at least 1 character"),
    applies_to=allows(tools=[NO_TOOL]),
)
