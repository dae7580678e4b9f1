"""Blind faults of concurrent requests: counts and tools of other requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.body_recipes import swapping_in_crowds
from reference_server.faults.blind.recipes import crowd_fault
from reference_server.faults.decorators import has_parameters
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import Json, ServedRequest

MOST_TOOLS: Final = 16


def _exchange_usage(answer: Json, usage: Any) -> Any:
    """Return the counts, and write those of another answer. Violates usage: the tokens of this request."""
    own = answer.get("usage")
    if usage is not None:
        answer["usage"] = usage
    return own


def _share_tools(crowd: Crowd) -> Hooks:
    """Offer the tools of all requests. Violates tools: the functions that the model may call."""

    def share(request: ServedRequest) -> None:
        tools = request.payload.get("tools")
        if isinstance(tools, list) and tools:
            others = [tool for sent in crowd.others(request) for tool in sent.get("tools") or ()]
            own = [tool["function"].get("name") for tool in tools if isinstance(tool.get("function"), dict)]
            foreign = [tool for tool in others if tool.get("function", {}).get("name") not in own]
            request.payload["tools"] = [*foreign, *tools][:MOST_TOOLS]

    return Hooks(request=share)


usage_swapped_in_crowds = crowd_fault(
    "usage-swapped-in-crowds",
    "Of three and more concurrent requests, the usage of a plain answer is that of the one before it.",
    lambda crowd: swapping_in_crowds(crowd, _exchange_usage),
)
tools_spill_over = crowd_fault(
    "tools-spill-over",
    "The tools of a request are also offered to other requests with tools that are running.",
    _share_tools,
    applies_to=has_parameters("tools"),
)
