"""Blind faults of reasoning: next to images, and in streams that the token limit ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.recipes import when
from reference_server.faults.blind.sixteenth.features.media import has_images
from reference_server.faults.blind.thought_recipes import thinks, thoughts_of, turn_thinking_off
from reference_server.faults.decorators import choice_fault, has_parameters, message_of
from reference_server.faults.topics.media.decoded_edits import takes

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest


def _thinks_about_images(sent: Json) -> bool:
    return thinks(sent) and has_images(sent)


def _thinks_and_sees(contract: Contract) -> bool:
    return "chat_template_kwargs" in contract.parameters and takes("image")(contract)


def _flush_thoughts(choice: Json, request: ServedRequest) -> None:
    """Send what the parser has left. Violates content: it has no reasoning."""
    said = message_of(choice)
    waiting: dict[Any, str] = request.state.setdefault("thoughts", {})
    index = choice.get("index")
    found = thoughts_of(said)
    waiting[index] = "" if said.get("content") else waiting.get(index, "") + (found[1] if found else "")
    request.state.setdefault("answered", set()).update([index] if said.get("content") else [])
    if choice.get("finish_reason") == "length" and index not in request.state["answered"]:
        said["content"] = waiting[index]


# Violates chat_template_kwargs: whether the model thinks.
thinking_lost_next_to_images = when(
    "thinking-lost-next-to-images",
    "The model does not think about messages with images.",
    _thinks_about_images,
    turn_thinking_off,
    applies_to=_thinks_and_sees,
)
cut_thoughts_sent_again_as_text = choice_fault(
    "cut-thoughts-sent-again-as-text",
    _flush_thoughts,
    "If the token limit ends a stream within its reasoning, the reasoning is sent once more as content.",
    plain=False,
    applies_to=has_parameters("chat_template_kwargs"),
)
