"""Faults in the usage so far of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import envelope_fault, requires_check

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _leave_out(chunk: Json, _request: ServedRequest) -> None:
    if chunk.get("choices"):
        chunk.pop("usage", None)


def _count_last_token(chunk: Json, _request: ServedRequest) -> None:
    if chunk.get("choices") and isinstance(chunk.get("usage"), dict):
        chunk["usage"] |= {"prompt_tokens": 1, "total_tokens": 1 + chunk["usage"]["completion_tokens"]}


running_usage_left_out = envelope_fault(
    "running-usage-left-out",
    _leave_out,
    "continuous_usage_stats has no effect.",
    plain=False,
    applies_to=requires_check("usage.running-given"),
)
running_usage_of_one_token = envelope_fault(
    "running-usage-of-one-token",
    _count_last_token,
    "With continuous_usage_stats, all chunks except the last count one token of the prompt.",
    plain=False,
    applies_to=requires_check("usage.running-leads-to-the-last"),
)
