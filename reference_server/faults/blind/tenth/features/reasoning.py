"""Blind faults of reasoning: text that is lost next to calls or in streams, and limits that do not count it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import is_whole, when
from reference_server.faults.blind.thought_recipes import thinks, thoughts_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

LIMITS: Final = ("max_tokens", "max_completion_tokens")
MOST_TOKENS: Final = 512
FREE_TOKENS: Final = 48


def _drop_next_to_calls(answer: Json, _request: ServedRequest) -> None:
    """Return calls alone. Violates the reasoning, which an answer with calls has too."""
    for choice in choices_of(answer):
        said = message_of(choice)
        thoughts = thoughts_of(said)
        if thoughts and said.get("tool_calls"):
            del said[thoughts[0]]


def _strip_pieces(chunk: Json, _request: ServedRequest) -> None:
    """Strip each piece. Violates the reasoning: the deltas are the whole of it."""
    for choice in choices_of(chunk):
        said = message_of(choice)
        thoughts = thoughts_of(said)
        if thoughts:
            said[thoughts[0]] = thoughts[1].strip()


def _thinks_within_a_limit(sent: Json) -> bool:
    return thinks(sent) and any(is_whole(sent.get(name), 1, MOST_TOKENS) for name in LIMITS)


def _raise_limit(request: ServedRequest) -> None:
    """Count the answer only. Violates max_tokens: the greatest number of generated tokens."""
    for name in LIMITS:
        if is_whole(request.payload.get(name), 1, MOST_TOKENS):
            request.payload[name] += FREE_TOKENS


thoughts_lost_next_to_calls = hooked_fault(
    "thoughts-lost-next-to-calls",
    "A plain answer with tool calls has no reasoning.",
    answer=_drop_next_to_calls,
    applies_to=has_parameters("chat_template_kwargs", "tools"),
)
pieces_of_thoughts_stripped = hooked_fault(
    "pieces-of-thoughts-stripped",
    "In streams, the white space around each piece of the reasoning is lost.",
    chunk=_strip_pieces,
    applies_to=has_parameters("chat_template_kwargs"),
)
thoughts_exceed_the_limit = when(
    "thoughts-exceed-the-limit",
    "With reasoning, an answer may have 48 tokens more than its limit.",
    _thinks_within_a_limit,
    _raise_limit,
    applies_to=has_parameters("chat_template_kwargs"),
)
