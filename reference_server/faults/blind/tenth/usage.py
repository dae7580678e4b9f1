"""Blind faults of token counts: reasoning that counts twice, and usage in chunks that have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import when
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import envelope_fault

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest


def _add_thoughts(response: Json, _request: ServedRequest) -> None:
    """Add the reasoning once more. Violates completion_tokens, which has all generated tokens once."""
    usage = response.get("usage")
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    if isinstance(usage, dict) and isinstance(details, dict) and details.get("reasoning_tokens"):
        usage["completion_tokens"] += details["reasoning_tokens"]
        usage["total_tokens"] += details["reasoning_tokens"]


def _counts_thoughts(contract: Contract) -> bool:
    return "UsageCompletionDetails" in contract.schemas and "chat_template_kwargs" in contract.parameters


def _asks_for_one_usage(sent: Json) -> bool:
    options = sent.get("stream_options")
    return sent.get("stream") is True and isinstance(options, dict) and options.get("include_usage") is True


def _report_always(request: ServedRequest) -> None:
    """Report the usage so far. Violates include_usage: usage is null in the other chunks."""
    request.payload["stream_options"]["continuous_usage_stats"] = True


thoughts_counted_twice = envelope_fault(
    "thoughts-counted-twice",
    _add_thoughts,
    "The tokens of the reasoning are counted twice in completion_tokens.",
    applies_to=_counts_thoughts,
)
usage_so_far_in_every_chunk = when(
    "usage-so-far-in-every-chunk",
    "With include_usage alone, every chunk has the usage so far.",
    _asks_for_one_usage,
    _report_always,
    applies_to=allows(stream=True, stream_options={"include_usage": True, "continuous_usage_stats": True}),
)
