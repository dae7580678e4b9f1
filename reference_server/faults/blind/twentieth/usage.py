"""Blind faults of token budgets and counts: next to truncated prompts, and in streams that are repeated."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.recipes import engine_fault, per_server
from reference_server.faults.decorators import has_parameters
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.engine import SamplingParams
    from reference_server.faults.blind.recipes import EngineEdit
    from reference_server.faults.hooks import Json, ServedRequest


def _charge_truncation() -> EngineEdit:
    """Compute the rest of the budget of the prompt as it was sent. Violates max_tokens: the limit of the answer."""

    def charge(prompt: list[int], params: SamplingParams) -> tuple[list[int], SamplingParams]:
        most = params.truncate_prompt_tokens or 0
        if params.max_tokens is None or not 0 < most < len(prompt):
            return prompt, params
        limit = max(params.max_tokens - (len(prompt) - most), params.min_tokens, 1)
        return prompt, replace(params, max_tokens=limit)

    return charge


def _replay_usage() -> Hooks:
    """Build usage of a replay from its totals. Violates reasoning_tokens: the tokens of the reasoning."""
    seen: set[bytes] = set()

    def note(request: ServedRequest) -> None:
        request.state["repeated"] = request.body in seen
        seen.add(request.body)

    def lose(chunk: Json, request: ServedRequest) -> None:
        usage: Any = chunk.get("usage")
        details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
        if request.state.get("repeated") and isinstance(details, dict) and details.get("reasoning_tokens"):
            details["reasoning_tokens"] = 0

    return Hooks(request=note, chunk=lose)


def _counts_thoughts(contract: Contract) -> bool:
    return "UsageCompletionDetails" in contract.schemas and "chat_template_kwargs" in contract.parameters


truncated_prompts_shorten_answers = engine_fault(
    "truncated-prompts-shorten-answers",
    "The tokens that truncate_prompt_tokens removes from a prompt are subtracted from the token limit of the answer.",
    _charge_truncation,
    applies_to=has_parameters("truncate_prompt_tokens"),
)
thoughts_uncounted_in_repeated_streams = per_server(
    "thoughts-uncounted-in-repeated-streams",
    "If a stream is asked for again, the number of its reasoning tokens is 0.",
    _replay_usage,
    applies_to=_counts_thoughts,
)
