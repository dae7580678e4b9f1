"""Blind faults of state between requests: stop strings and numbers of alternatives of earlier ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import is_whole, per_server
from reference_server.faults.decorators import has_parameters
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest

MOST_ALTERNATIVES: Final = 20


def _keep_stops() -> Hooks:
    """Set what a request names. Violates stop: by default, no string ends an answer."""
    kept: list[Any] = []

    def keep(request: ServedRequest) -> None:
        sent = request.payload
        if sent.get("stream") is not True:
            return
        if sent.get("stop"):
            kept[:] = [sent["stop"]]
        elif kept and "stop" not in sent:
            sent["stop"] = kept.pop()

    return Hooks(request=keep)


def _keep_alternatives() -> Hooks:
    """Set what a request names. Violates top_logprobs: by default, no alternative is listed."""
    kept: list[int] = []

    def keep(request: ServedRequest) -> None:
        sent = request.payload
        if is_whole(sent.get("top_logprobs"), 1, MOST_ALTERNATIVES):
            kept[:] = [sent["top_logprobs"]]
        elif kept and sent.get("logprobs") is True and "top_logprobs" not in sent:
            sent["top_logprobs"] = kept[0]

    return Hooks(request=keep)


stops_outlive_their_stream = per_server(
    "stops-outlive-their-stream",
    "The stop strings of a stream also end the next stream, if that has none.",
    _keep_stops,
    applies_to=has_parameters("stop"),
)
alternatives_outlive_their_request = per_server(
    "alternatives-outlive-their-request",
    "A request for log-probabilities without top_logprobs gets as many alternatives as the last one with it.",
    _keep_alternatives,
    applies_to=has_parameters("top_logprobs"),
)
