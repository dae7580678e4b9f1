"""Blind faults of reasoning: switches that are ignored, and text that is lost or repeated where it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import when
from reference_server.faults.blind.thought_recipes import forbids_thinking, thoughts_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _forbids_next_to_tools(sent: Json) -> bool:
    return forbids_thinking(sent) and bool(sent.get("tools"))


def _think_anyway(request: ServedRequest) -> None:
    """Render another template. Violates enable_thinking: whether the model thinks."""
    request.payload["chat_template_kwargs"]["enable_thinking"] = True


def _asks_for_none(sent: Json) -> bool:
    return sent.get("reasoning_effort") == "none"


def _think_a_little(request: ServedRequest) -> None:
    """Know low, medium and high only. Violates reasoning_effort: none turns reasoning off."""
    request.payload["reasoning_effort"] = "low"


def _repeat_thoughts(answer: Json, _request: ServedRequest) -> None:
    """Keep the raw text. Violates message.content: the answer without the reasoning."""
    for choice in choices_of(answer):
        said = message_of(choice)
        thoughts = thoughts_of(said)
        if thoughts and isinstance(said.get("content"), str):
            said["content"] = f"{thoughts[1]}\n\n{said['content']}"


def _lose_piece(chunk: Json, request: ServedRequest) -> None:
    """Discard the delta in which the reasoning ends. Violates delta.content: the deltas are the whole answer."""
    for choice in choices_of(chunk):
        said, key = message_of(choice), f"thinks {choice.get('index')}"
        if thoughts_of(said):
            request.state[key] = True
        elif said.get("content") and request.state.pop(key, False):
            said["content"] = ""


thinking_not_turned_off_next_to_tools = when(
    "thinking-not-turned-off-next-to-tools",
    "A false enable_thinking has no effect if the request has tools.",
    _forbids_next_to_tools,
    _think_anyway,
    applies_to=has_parameters("chat_template_kwargs", "tools"),
)
efforts_of_none_are_low = when(
    "efforts-of-none-are-low",
    "The reasoning_effort none has the effect of low.",
    _asks_for_none,
    _think_a_little,
    applies_to=allows(reasoning_effort="none"),
)
thoughts_repeated_in_content = hooked_fault(
    "thoughts-repeated-in-content",
    "The content of a plain answer begins with its reasoning, which is also in its own field.",
    answer=_repeat_thoughts,
    applies_to=has_parameters("chat_template_kwargs"),
)
first_pieces_after_thoughts_lost = hooked_fault(
    "first-pieces-after-thoughts-lost",
    "In a stream, the first piece of text after the reasoning is lost.",
    chunk=_lose_piece,
    applies_to=has_parameters("chat_template_kwargs"),
)
