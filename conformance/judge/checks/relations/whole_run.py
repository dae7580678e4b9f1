"""Checks of every answer of a run by the others: whatever a request was sent for, its text is that of its equals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, check
from conformance.judge.applicability import ANSWER
from conformance.judge.evidence.repetition import require_some_repetition
from conformance.judge.evidence.run_answers import require_answers
from conformance.judge.logprob_entries import CUT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange


@check("relations.same-text-everywhere", on=ANSWER)
def the_same_request_has_the_same_text_everywhere(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A greedy or seeded request has the text of the other requests of the run with the same meaning, up to its limit.

    It does not matter what else was requested before or at the same time, whether the answer is streamed, and which
    limit, log-probabilities or parameters without an effect it asks for. Reported if rounding cannot explain it:
    characters are lost or spoilt, log-probabilities show that the likeliest token was not chosen, or answers to several
    prompts differ from the start or end early.
    """
    texts = {index: choice.content for index, choice in exchange.choices.items()}
    answers = require_answers(context)
    if not answers.with_text_of(exchange):
        raise NotExercised("no other request of the run must have the same text")
    if (odd := answers.odd.get(exchange.id)) is not None:
        require_some_repetition(context)
        usual, text = odd
        if CUT in text.text and context.garbled():
            raise NotExercised("the model generates invalid UTF-8")
        where = f"/choices/{text.index}/message/content"
        expected = f"{usual.text!r}, as in {usual.exchange.id}"
        yield Finding(where, expected[:240], repr(texts.get(text.index) or text.text)[:200])
