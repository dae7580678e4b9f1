"""Tell a server's own limit of the tokens of an answer from one that it does not heed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from conformance.check import NotExercised
from conformance.judge.token_counts import completion_count

if TYPE_CHECKING:
    from conformance.check import Context
    from conformance.exchange import Exchange
    from conformance.judge.evidence.run_answers import RunAnswers

LEAST: Final = 16
"""No deployment has a smaller limit."""


def require_no_own_limit(exchange: Exchange, context: Context) -> None:
    """Raise NotExercised if an answer ends with "length" after as many tokens as the longest answer of the run."""
    answers: RunAnswers | None = context.answers()
    found = completion_count(exchange)
    if answers is not None and exchange.finish_reason() == "length" and LEAST <= answers.most_tokens == found:
        raise NotExercised(f"no answer has more than {found} tokens, which may be the server's own limit")
