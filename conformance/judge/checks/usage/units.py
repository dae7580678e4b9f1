"""Checks of what prompt_tokens counts: tokens, not characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.check import Context, Finding, NotExercised, series
from conformance.judge.applicability import why_unanswered
from conformance.judge.logprob_entries import precise_alternatives
from conformance.judge.token_counts import prompt_count
from conformance.plan.scenarios.prompts.text_kinds import OTHER
from conformance.plan.scenarios.prompts.text_kinds import SCENARIO as LOOK_ALIKE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from conformance.exchange import Exchange

NOTES: Final = "notes"
CLEAR_GROWTH: Final = 8
"""Characters that one line must have more than another one, so that the tokens of both show what is counted."""
CLEAR_PAIRS: Final = 3
SEVERAL_LETTERS: Final = 3
UNITS: Final[Mapping[str, Callable[[str], int]]] = {
    "character": len,
    "unit of UTF-16": lambda text: len(text.encode("utf-16-le")) // 2,
    "byte": lambda text: len(text.encode()),
}


@series("usage.prompt-in-tokens", scenario=LOOK_ALIKE)
def prompts_beyond_ascii_are_counted_in_tokens(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """prompt_tokens of a prompt with text beyond ASCII does not grow by one for each character or byte of another text.

    Not judged unless log-probabilities list tokens of several letters: the model may read single characters.
    """
    whole = exchanges.get(NOTES)
    if whole is None or why_unanswered(whole):
        raise NotExercised("the message is refused")
    known, text = prompt_count(whole), _text(whole)
    grown = [
        (prompt_count(exchange) - known, text, _text(exchange))
        for name, exchange in exchanges.items()
        if name.startswith(f"{NOTES}{OTHER}") and not why_unanswered(exchange)
    ]
    clear = [row for row in grown if abs(len(row[2]) - len(row[1])) >= CLEAR_GROWTH]
    if len(clear) < CLEAR_PAIRS or not any(map(_lists_words, exchanges.values())):
        raise NotExercised("the answers do not show that tokens have several characters")
    for unit, measure in UNITS.items():
        if all(tokens == measure(after) - measure(before) for tokens, before, after in clear):
            yield Finding(f"/{NOTES}/usage/prompt_tokens", "tokens", f"each {unit} counts as one")
            return


def _text(exchange: Exchange) -> str:
    """Return the text of the only message of a request."""
    sent: Any = exchange.request_json
    return str(sent["messages"][-1]["content"])


def _lists_words(exchange: Exchange) -> bool:
    """Return whether an alternative of the answer's first token has several letters."""
    tokens = map(str.strip, precise_alternatives(exchange))
    return any(len(token) >= SEVERAL_LETTERS and token.isalpha() for token in tokens)
