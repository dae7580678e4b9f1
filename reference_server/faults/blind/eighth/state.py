"""Blind faults of state between requests: switches and seeds that outlive their request."""

from __future__ import annotations

from reference_server.faults.blind.recipes import per_server
from reference_server.faults.decorators import has_parameters
from reference_server.faults.hooks import Hooks
from reference_server.faults.request_edits import keep_last


def _keep_switches() -> Hooks:
    """Render with the last switches. Violates chat_template_kwargs: what this request asks of the template."""
    return Hooks(request=keep_last(("chat_template_kwargs",)))


def _keep_seeds() -> Hooks:
    """Seed the server. Violates seed: without it, the server chooses a random one."""
    return Hooks(request=keep_last(("seed",)))


thinking_outlives_its_request = per_server(
    "thinking-outlives-its-request",
    "A request without chat_template_kwargs has those of an earlier request.",
    _keep_switches,
    applies_to=has_parameters("chat_template_kwargs"),
)
seeds_outlive_their_request = per_server(
    "seeds-outlive-their-request",
    "A request without a seed has that of an earlier request.",
    _keep_seeds,
    applies_to=has_parameters("seed"),
)
