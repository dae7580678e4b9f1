"""Blind faults of reasoning: thoughts that are cut, and budgets of nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import dropping, is_whole, when
from reference_server.faults.blind.thought_recipes import thoughts_of
from reference_server.faults.decorators import choice_fault, has_parameters, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _lose_cut_thoughts(choice: Json, _request: ServedRequest) -> None:
    """Search for the closing tag. Violates the field of the reasoning: what was generated."""
    said = message_of(choice)
    found = thoughts_of(said)
    if found is not None and not said.get("content") and choice.get("finish_reason") == "length":
        said[found[0]] = None


def _has_no_budget(sent: Json) -> bool:
    return is_whole(sent.get("thinking_token_budget"), 0, 0)


cut_thoughts_are_lost = choice_fault(
    "cut-thoughts-are-lost",
    _lose_cut_thoughts,
    "If the token limit ends a plain answer within its reasoning, the answer has neither reasoning nor content.",
    streamed=False,
    applies_to=has_parameters("chat_template_kwargs"),
)
# Violates thinking_token_budget: the greatest number of tokens.
budgets_of_zero_are_unlimited = when(
    "budgets-of-zero-are-unlimited",
    "A thinking_token_budget of 0 counts as none.",
    _has_no_budget,
    dropping("thinking_token_budget"),
    applies_to=has_parameters("thinking_token_budget"),
)
