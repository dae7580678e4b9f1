"""Blind faults of state between requests: tools and temperatures that outlive their request."""

from __future__ import annotations

from reference_server.faults.blind.recipes import per_server
from reference_server.faults.decorators import has_parameters
from reference_server.faults.hooks import Hooks
from reference_server.faults.request_edits import keep_last


def _keep_tools() -> Hooks:
    """Offer the last tools. Violates tools: without them, the model cannot call any."""
    return Hooks(request=keep_last(("tools",)))


def _keep_temperatures() -> Hooks:
    """Sample like before. Violates the defaults of temperature and top_p."""
    return Hooks(request=keep_last(("temperature", "top_p")))


tools_outlive_their_request = per_server(
    "tools-outlive-their-request",
    "A request without tools has those of an earlier request.",
    _keep_tools,
    applies_to=has_parameters("tools"),
)
temperatures_outlive_their_request = per_server(
    "temperatures-outlive-their-request",
    "A request without temperature or top_p has that of an earlier request.",
    _keep_temperatures,
)
