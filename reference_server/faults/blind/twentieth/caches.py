"""Blind faults of caches: answers that were cut, and penalties of prompts that are known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.blind.answer_cache import answer_cache, key_of
from reference_server.faults.blind.recipes import engine_fault, is_greedy, messages_of
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.blind.recipes import EngineEdit
    from reference_server.faults.hooks import Json


def _is_greedy_chat(sent: Json) -> bool:
    return is_greedy(sent) and bool(messages_of(sent))


def _say_stop(answer: Json) -> Json:
    """Build an answer of its text. Violates finish_reason: length, if the limit was reached."""
    cut = {"finish_reason": "stop"}
    return {
        **answer,
        "choices": [
            {**choice, **cut} if choice.get("finish_reason") == "length" else choice for choice in answer["choices"]
        ],
    }


def _forget_known_prompts() -> EngineEdit:
    """Count tokens while they are computed. Violates repetition_penalty: the tokens of the prompt count too."""
    known: set[tuple[int, ...]] = set()

    def edit(prompt: list[int], params: SamplingParams) -> tuple[list[int], SamplingParams]:
        if tuple(prompt) in known:
            return prompt, replace(params, repetition_penalty=1.0)
        known.add(tuple(prompt))
        return prompt, params

    return edit


repeated_cut_answers_say_stop = answer_cache(
    "repeated-cut-answers-say-stop",
    "Greedy plain answers are cached, and one that the token limit has cut has the finish reason stop the next time.",
    key_of,
    _is_greedy_chat,
    keep=_say_stop,
)
known_prompts_escape_repetition_penalties = engine_fault(
    "known-prompts-escape-repetition-penalties",
    "A repetition_penalty has no effect if the same prompt was sent before.",
    _forget_known_prompts,
    applies_to=has_parameters("repetition_penalty"),
)
