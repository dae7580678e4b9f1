"""Tell characters that a server cut from those that the model itself did not finish."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from conformance.check import NotExercised
from conformance.judge.logprob_entries import CUT

if TYPE_CHECKING:
    from conformance.check import Context
    from conformance.exchange import Exchange
    from conformance.judge.evidence.run_answers import RunAnswers

SEVERAL: Final = re.compile(f"{CUT}{{2,}}")


def require_cut_by_server(exchange: Exchange, context: Context) -> None:
    """Raise NotExercised if the model may have generated the U+FFFD of an answer, or parts of characters.

    A server that cuts a character between two tokens shows each part as U+FFFD, or does so only in streams. A model
    shows one alone, and in both forms; or within one text of the whole run.
    """
    if context.garbled():
        raise NotExercised("the model generates invalid UTF-8")
    text = exchange.content() or ""
    if CUT not in text or SEVERAL.search(text):
        return
    answers: RunAnswers | None = context.answers()
    equals = answers.with_text_of(exchange) if answers is not None else ()
    if any(other.text == text and other.exchange.is_stream != exchange.is_stream for other in equals):
        raise NotExercised("plain and streamed answers have the same U+FFFD, which the model may have generated")
    is_within = text.count(CUT) == 1 and not text.strip().startswith(CUT) and not text.strip().endswith(CUT)
    if is_within and answers is not None and len(answers.before_cut_characters) < 2:
        raise NotExercised("one text of the run has a U+FFFD in its middle, which the model may have generated")
