"""Blind faults of reasoning: content that becomes reasoning, tags that remain, and budgets of later turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import messages_of
from reference_server.faults.blind.thought_recipes import thoughts_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

CLOSING: Final = "</think>"


def _hide_content(answer: Json, request: ServedRequest) -> None:
    """Take JSON for reasoning, which is left out. Violates message.content: the answer."""
    form = request.payload.get("response_format")
    typed = isinstance(form, dict) and form.get("type") in ("json_schema", "json_object")
    if typed and request.payload.get("include_reasoning") is False:
        for choice in choices_of(answer):
            message_of(choice)["content"] = None


def _leave_tags(chunk: Json, request: ServedRequest) -> None:
    """Send the closing tag. Violates delta.content: the answer without the reasoning."""
    for choice in choices_of(chunk):
        said, index = message_of(choice), str(choice.get("index"))
        if thoughts_of(said):
            request.state[index] = True
        elif said.get("content") and request.state.pop(index, False):
            said["content"] = CLOSING + said["content"]


def _ignore_budget(request: ServedRequest) -> None:
    """Lose the budget after an answer. Violates thinking_token_budget: the most tokens of reasoning."""
    if any(message.get("role") == "assistant" for message in messages_of(request.payload)):
        request.payload.pop("thinking_token_budget", None)


forms_lost_without_thoughts = hooked_fault(
    "forms-lost-without-thoughts",
    "With include_reasoning false and a form, the content of a plain answer is null.",
    answer=_hide_content,
    applies_to=has_parameters("include_reasoning", "response_format"),
)
closing_tags_left_in_streams = hooked_fault(
    "closing-tags-left-in-streams",
    "The content of a stream after reasoning begins with the tag that closes it.",
    chunk=_leave_tags,
    applies_to=has_parameters("chat_template_kwargs"),
)
thinking_budgets_lost_in_later_turns = hooked_fault(
    "thinking-budgets-lost-in-later-turns",
    "After an earlier answer, reasoning does not end at thinking_token_budget.",
    request=_ignore_budget,
    applies_to=has_parameters("thinking_token_budget"),
)
