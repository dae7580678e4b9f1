"""Blind faults of reasoning: reasoning that becomes content, that is skipped, or that does not end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.thought_recipes import thinks, thoughts_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _spill_cut_thoughts(answer: Json, _request: ServedRequest) -> None:
    """Find no closing tag. Violates message.content: the answer without the reasoning."""
    for choice in choices_of(answer):
        said = message_of(choice)
        thought = thoughts_of(said)
        if thought and choice.get("finish_reason") == "length" and not said.get("content"):
            said["content"] = thought[1]
            said[thought[0]] = None


def _skip_thoughts(request: ServedRequest) -> None:
    """Begin with the JSON. Violates enable_thinking: the answer has reasoning."""
    form = request.payload.get("response_format")
    if thinks(request.payload) and isinstance(form, dict) and form.get("type") != "text":
        keywords = request.payload.get("chat_template_kwargs")
        others = keywords if isinstance(keywords, dict) else {}
        request.payload["chat_template_kwargs"] = {**others, "enable_thinking": False}
        request.payload.pop("reasoning_effort", None)


def _ignore_budget(request: ServedRequest) -> None:
    """Lose the budget in streams. Violates thinking_token_budget: the most tokens of reasoning."""
    if request.payload.get("stream") is True:
        request.payload.pop("thinking_token_budget", None)


cut_thoughts_become_content = hooked_fault(
    "cut-thoughts-become-content",
    "Reasoning that the token limit cuts is the content of a plain answer.",
    answer=_spill_cut_thoughts,
    applies_to=has_parameters("chat_template_kwargs"),
)
thoughts_skipped_in_forms = hooked_fault(
    "thoughts-skipped-in-forms",
    "Answers with a response_format have no reasoning, although it is requested.",
    request=_skip_thoughts,
    applies_to=has_parameters("chat_template_kwargs", "response_format"),
)
thinking_budgets_lost_in_streams = hooked_fault(
    "thinking-budgets-lost-in-streams",
    "Streams do not end reasoning at thinking_token_budget.",
    request=_ignore_budget,
    applies_to=has_parameters("thinking_token_budget"),
)
