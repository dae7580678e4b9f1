"""Blind faults of token counts: counts that change places, and texts and thoughts that count elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.body_recipes import parts_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import envelope_fault

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

PARTS: Final = [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]


def _swap(response: Json, _request: ServedRequest) -> None:
    """Write counts in the wrong order. Violates prompt_tokens and completion_tokens."""
    usage = response.get("usage")
    if isinstance(usage, dict) and {"prompt_tokens", "completion_tokens"} <= usage.keys():
        counts = usage["completion_tokens"], usage["prompt_tokens"]
        usage["prompt_tokens"], usage["completion_tokens"] = counts


def _skip_parts(response: Json, request: ServedRequest) -> None:
    """Count strings only. Violates prompt_tokens: all tokens of the prompt."""
    words = sum(len(str(part.get("text") or "").split()) for part in parts_of(request.payload))
    usage = response.get("usage")
    if isinstance(usage, dict) and usage.get("prompt_tokens", 0) > words:
        usage["prompt_tokens"] -= words
        usage["total_tokens"] -= words


def _move_thoughts(response: Json, _request: ServedRequest) -> None:
    """Count reasoning with the input. Violates completion_tokens, which has all generated tokens."""
    usage = response.get("usage")
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    if isinstance(usage, dict) and isinstance(details, dict) and details.get("reasoning_tokens"):
        usage["completion_tokens"] -= details["reasoning_tokens"]
        usage["prompt_tokens"] += details["reasoning_tokens"]


def _counts_thoughts(contract: Contract) -> bool:
    return "UsageCompletionDetails" in contract.schemas and "chat_template_kwargs" in contract.parameters


counts_swapped_in_streams = envelope_fault(
    "counts-swapped-in-streams",
    _swap,
    "In the usage of streams, the counts of the prompt and of the answer have changed places.",
    plain=False,
)
parts_uncounted = envelope_fault(
    "parts-uncounted",
    _skip_parts,
    "The words of messages that are lists of parts are not counted in prompt_tokens.",
    applies_to=allows(messages=PARTS),
)
thoughts_counted_as_prompts = envelope_fault(
    "thoughts-counted-as-prompts",
    _move_thoughts,
    "The tokens of the reasoning are counted in prompt_tokens and not in completion_tokens.",
    applies_to=_counts_thoughts,
)
