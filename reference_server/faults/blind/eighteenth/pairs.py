"""Blind faults of two features together: penalties, streams, several choices and log-probabilities next to others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import dropping, is_whole, messages_of, when
from reference_server.faults.blind.thought_recipes import thinks, thoughts_of, turn_thinking_off
from reference_server.faults.decorators import choice_fault, has_parameters, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

MOST_CHOICES: Final = 128
PENALTIES: Final = ("frequency_penalty", "presence_penalty")


def _penalises_best_of(sent: Json) -> bool:
    return any(sent.get(name) for name in PENALTIES) and is_whole(sent.get("best_of"), 2, MOST_CHOICES)


def _choose_from_none(request: ServedRequest) -> None:
    """Sample the answers that are returned only."""
    request.payload["best_of"] = request.payload.get("n") or 1


def _continues_in_stream(sent: Json) -> bool:
    return sent.get("stream") is True and sent.get("continue_final_message") is True


def _scores_prompt_of_several(sent: Json) -> bool:
    return is_whole(sent.get("n"), 2, MOST_CHOICES) and sent.get("prompt_logprobs") is not None


def _names_scores_in_stream(sent: Json) -> bool:
    return sent.get("stream") is True and bool(sent.get("logprob_token_ids"))


def _truncates_in_stream(sent: Json) -> bool:
    return sent.get("stream") is True and sent.get("truncation_side") is not None


def _thinks_after_result(sent: Json) -> bool:
    messages = messages_of(sent)
    return bool(messages) and messages[-1].get("role") == "tool" and thinks(sent)


def _forget_thoughts(choice: Json, request: ServedRequest) -> None:
    """Split the text without the scores. Violates the reasoning, which is part of the answer."""
    said = message_of(choice)
    thoughts = thoughts_of(said)
    if thoughts and request.payload.get("logprobs"):
        said[thoughts[0]] = "" if "message" in choice else None


# Violates best_of: the number of answers to choose from.
best_of_lost_next_to_penalties = when(
    "best-of-lost-next-to-penalties",
    "If the request has a penalty, `best_of` has no effect.",
    _penalises_best_of,
    _choose_from_none,
    applies_to=has_parameters("best_of", "n"),
)
# Violates continue_final_message: the answer continues the last message.
continuations_lost_in_streams = when(
    "continuations-lost-in-streams",
    "A stream does not continue the last message, but answers it.",
    _continues_in_stream,
    dropping("continue_final_message", "add_generation_prompt"),
    applies_to=has_parameters("continue_final_message"),
)
# Violates prompt_logprobs: those of the prompt.
prompt_scores_lost_next_to_several = when(
    "prompt-scores-lost-next-to-several",
    "The log-probabilities of the prompt are missing if several choices are requested.",
    _scores_prompt_of_several,
    dropping("prompt_logprobs"),
    applies_to=has_parameters("prompt_logprobs", "n"),
)
# Violates logprob_token_ids: the tokens that are listed.
named_scores_lost_in_streams = when(
    "named-scores-lost-in-streams",
    "In streams, logprob_token_ids has no effect.",
    _names_scores_in_stream,
    dropping("logprob_token_ids"),
    applies_to=has_parameters("logprob_token_ids"),
)
# Violates truncation_side, which says what remains of the prompt.
truncation_sides_lost_in_streams = when(
    "truncation-sides-lost-in-streams",
    "In streams, truncation_side has no effect.",
    _truncates_in_stream,
    dropping("truncation_side"),
    applies_to=has_parameters("truncation_side"),
)
thoughts_lost_next_to_scores = choice_fault(
    "thoughts-lost-next-to-scores",
    _forget_thoughts,
    "The reasoning is missing if log-probabilities are requested.",
    applies_to=has_parameters("logprobs", "chat_template_kwargs"),
)
# Violates enable_thinking: the model thinks if it is true.
thinking_lost_after_results = when(
    "thinking-lost-after-results",
    "Reasoning is turned off if the last message is the result of a tool.",
    _thinks_after_result,
    turn_thinking_off,
    applies_to=has_parameters("chat_template_kwargs", "tools"),
)
