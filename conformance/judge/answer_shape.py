"""Reduce an answer to what parameters change, so that answers to different requests can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.judge.answer_fields import iterate_choices

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@dataclass(frozen=True, slots=True)
class AnswerShape:
    """The form of an answer, the content of its choices, and the number of alternatives of its log-probabilities."""

    is_stream: bool
    choices: tuple[tuple[Any, ...], ...]
    alternatives: int | None

    def is_cut_before(self, other: AnswerShape) -> bool:
        """Tell whether an answer ended with length where another one continues."""
        texts, whole = ([text for _, text, *_ in shape.choices] for shape in (self, other))
        ended = [reason for *_, reason in self.choices]
        return ended == ["length"] and len(whole) == 1 and whole != texts and whole[0].startswith(texts[0])


def shape_of(exchange: Exchange) -> AnswerShape:
    """Return the shape of an answer."""
    choices = tuple(
        (
            index,
            choice.content,
            choice.reasoning,
            tuple((call.name, call.arguments) for call in choice.tool_calls),
            choice.finish_reason,
        )
        for index, choice in exchange.choices.items()
    )
    return AnswerShape(exchange.is_stream, choices, _alternatives(exchange))


def _alternatives(exchange: Exchange) -> int | None:
    """Return the greatest number of alternatives of a token, or None without log-probabilities."""
    numbers = [
        len(entry["top_logprobs"]) if isinstance(entry, dict) and isinstance(entry.get("top_logprobs"), list) else 0
        for _place, choice in iterate_choices(exchange)
        if isinstance(logprobs := choice.get("logprobs"), dict)
        for entry in (logprobs.get("content") or [None])
    ]
    return max(numbers, default=None)
