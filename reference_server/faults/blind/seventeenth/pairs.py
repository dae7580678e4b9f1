"""Blind faults of two parameters together: lists of tokens, streams with an echo, and JSON next to tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import dropping, when
from reference_server.faults.blind.stream_recipes import streamed_text_fault
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

OPENER: Final = "{"


def _bans_words_of_allowed_tokens(sent: Json) -> bool:
    return bool(sent.get("bad_words")) and bool(sent.get("allowed_token_ids"))


def _echoes_in_stream(sent: Json) -> bool:
    return sent.get("echo") is True and sent.get("stream") is True


def _swallow_json(piece: str, state: Json, request: ServedRequest) -> str:
    """Wait for a call that does not come. Violates delta.content: the text of the answer."""
    if not request.payload.get("tools") or request.payload.get("tool_choice") == "none":
        return piece
    if "swallows" not in state and piece.strip():
        state["swallows"] = piece.lstrip().startswith(OPENER)
    return "" if state.get("swallows") else piece


# Violates allowed_token_ids: the only tokens that may be generated.
allowed_tokens_lost_next_to_bad_words = when(
    "allowed-tokens-lost-next-to-bad-words",
    "allowed_token_ids has no effect if the request has bad_words.",
    _bans_words_of_allowed_tokens,
    dropping("allowed_token_ids"),
    applies_to=has_parameters("allowed_token_ids", "bad_words"),
)
# Violates echo, which applies to streams too.
echoes_lost_in_streams = when(
    "echoes-lost-in-streams",
    "echo has no effect in streams.",
    _echoes_in_stream,
    dropping("echo"),
    applies_to=has_parameters("echo"),
)
json_lost_next_to_tools_in_streams = streamed_text_fault(
    "json-lost-next-to-tools-in-streams",
    "A stream for a request with tools has no text if its text begins with a brace.",
    _swallow_json,
    applies_to=has_parameters("tools", "response_format"),
)
