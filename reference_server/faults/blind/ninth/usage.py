"""Blind faults of token counts: messages that do not count, and cached tokens of prompts that are new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.body_recipes import uncounting
from reference_server.faults.blind.validity import reports_cached
from reference_server.faults.decorators import envelope_fault, has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _count_all(response: Json, _request: ServedRequest) -> None:
    """Count the prompt after it is stored. Violates cached_tokens: tokens that were in the cache before."""
    usage = response.get("usage")
    if isinstance(usage, dict) and isinstance(usage.get("prompt_tokens_details"), dict):
        usage["prompt_tokens_details"]["cached_tokens"] = usage["prompt_tokens"]


results_of_tools_uncounted = hooked_fault(
    "results-of-tools-uncounted",
    "The words of the results of tools are not counted in prompt_tokens.",
    answer=uncounting("tool"),
    chunk=uncounting("tool"),
    applies_to=has_parameters("tools"),
)
new_prompts_counted_as_cached = envelope_fault(
    "new-prompts-counted-as-cached",
    _count_all,
    "All tokens of each prompt are reported as cached.",
    applies_to=reports_cached,
)
