"""Blind faults of two things together: limits after results, seeds after long prompts, and echoes of choices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import dropping, is_whole, messages_of, text_length, when
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json

LONG: Final = 3_000  # characters
MOST_CHOICES: Final = 128


def _ends_with_result(sent: Json) -> bool:
    messages = messages_of(sent)
    return bool(messages) and messages[-1].get("role") == "tool"


def _is_long(sent: Json) -> bool:
    return text_length(sent) > LONG


def _echoes_several(sent: Json) -> bool:
    return sent.get("echo") is True and is_whole(sent.get("n"), 2, MOST_CHOICES)


# Violates max_tokens, which applies to each answer.
limits_lost_after_results = when(
    "limits-lost-after-results",
    "Token limits have no effect if the last message is the result of a tool.",
    _ends_with_result,
    dropping("max_tokens", "max_completion_tokens"),
    applies_to=has_parameters("tools"),
)
# Violates seed: equal requests with it have equal answers.
seeds_lost_after_long_prompts = when(
    "seeds-lost-after-long-prompts",
    "A seed has no effect if the messages have more than 3,000 characters.",
    _is_long,
    dropping("seed"),
    applies_to=has_parameters("seed"),
)
# Violates echo: each choice begins with the message.
echoes_lost_next_to_several = when(
    "echoes-lost-next-to-several",
    "`echo` has no effect if several choices are requested.",
    _echoes_several,
    dropping("echo"),
    applies_to=has_parameters("echo", "n"),
)
