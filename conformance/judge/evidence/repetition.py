"""Tell from all recorded answers whether greedy answers repeat, so that a near tie is not reported."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from conformance.check import NotExercised, RepeatedAnswers
from conformance.judge.answer_fields import shape_of
from conformance.judge.evidence.answer_difference import NEAR_TIE, gap_at_divergence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.check import Context
    from conformance.exchange import Exchange

ENOUGH: Final = 3
"""Repeated greedy requests, beyond which they show whether greedy answers of the server repeat."""


def measure_repetition(recorded: Iterable[Exchange]) -> RepeatedAnswers:
    """Compare the answers to greedy requests with the same body."""
    answers: dict[bytes, list[Exchange]] = defaultdict(list)
    for exchange in recorded:
        sent: Any = exchange.request_json
        if isinstance(sent, dict) and sent.get("temperature") == 0 and exchange.succeeded:
            answers[exchange.request.body].append(exchange)
    repeated = [(first, others) for first, *others in answers.values() if others]
    pairs = [[(first, other) for other in others if _differ(first, other)] for first, others in repeated]
    gaps = [gap for first, other in chain(*pairs) if (gap := gap_at_divergence(first, other)) is not None]
    ties = sum(gap <= NEAR_TIE for gap in gaps)
    return RepeatedAnswers(len(repeated), sum(not differing for differing in pairs), ties, len(gaps) - ties)


def _differ(first: Exchange, other: Exchange) -> bool:
    return shape_of(first).choices != shape_of(other).choices


def require_repetition(context: Context) -> None:
    """Raise NotExercised if a greedy request of the run had two answers: a difference may then be a near tie."""
    if (repetition := context.repetition()) is not None and not repetition.always:
        raise NotExercised("greedy answers of this server do not always repeat")


def require_some_repetition(context: Context) -> None:
    """Raise NotExercised if many greedy answers differ, so that one more difference shows nothing."""
    repetition = context.repetition()
    if repetition is not None and repetition.requests > ENOUGH and not repetition.mostly:
        raise NotExercised("greedy answers of this server do not repeat")
