"""Blind faults of reasoning: switches that are ignored, and text that is lost or repeated where it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.frame_recipes import holding_back
from reference_server.faults.blind.recipes import dropping, when
from reference_server.faults.blind.thought_recipes import forbids_thinking, thoughts_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _forbids_in_stream(sent: Json) -> bool:
    return forbids_thinking(sent) and sent.get("stream") is True


def _think_anyway(request: ServedRequest) -> None:
    """Render another template. Violates enable_thinking: whether the model thinks."""
    request.payload["chat_template_kwargs"]["enable_thinking"] = True


def _hides_in_stream(sent: Json) -> bool:
    return sent.get("include_reasoning") is False and sent.get("stream") is True


def _repeat_answer(answer: Json, _request: ServedRequest) -> None:
    """Keep the raw text. Violates the reasoning, which does not contain the answer."""
    for choice in choices_of(answer):
        said = message_of(choice)
        thoughts = thoughts_of(said)
        if thoughts and said.get("content"):
            said[thoughts[0]] = f"{thoughts[1]}\n\n{said['content']}"


def _has_thoughts(choice: Json) -> bool:
    return thoughts_of(message_of(choice)) is not None


def _has_no_thoughts(choice: Json) -> bool:
    return not _has_thoughts(choice)


thinking_not_turned_off_in_streams = when(
    "thinking-not-turned-off-in-streams",
    "A false enable_thinking has no effect in streams.",
    _forbids_in_stream,
    _think_anyway,
    applies_to=has_parameters("chat_template_kwargs"),
)
hidden_thoughts_shown_in_streams = when(
    "hidden-thoughts-shown-in-streams",
    "A false include_reasoning has no effect in streams.",
    _hides_in_stream,
    dropping("include_reasoning"),
    applies_to=has_parameters("include_reasoning"),
)
answers_repeated_in_thoughts = hooked_fault(
    "answers-repeated-in-thoughts",
    "The reasoning of a plain answer ends with its content, which is also in its own field.",
    answer=_repeat_answer,
    applies_to=has_parameters("chat_template_kwargs"),
)
# Violates the reasoning: the deltas are the whole of it.
last_pieces_of_thoughts_lost = hooked_fault(
    "last-pieces-of-thoughts-lost",
    "In a stream, the last piece of the reasoning is lost.",
    event=holding_back(_has_thoughts, _has_no_thoughts),
    applies_to=has_parameters("chat_template_kwargs"),
)
