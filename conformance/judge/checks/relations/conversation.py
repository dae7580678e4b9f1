"""A check of conversations that go on after the server's own answers, as chats and agents send them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from conformance.check import Context, Finding, NotExercised, series
from conformance.judge.applicability import why_unanswered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

SENT_BACK: Final = ("continued", "call-answered")
"""The steps whose messages contain an answer of the server."""


@series("relations.own-answers-taken-back", scenario="answers-sent-back")
def own_answers_are_messages(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A conversation goes on after an answer whose message is sent back as it came, with the results of its calls."""
    continued = [name for name in SENT_BACK if name in exchanges]
    if not continued:
        raise NotExercised("no answer could be sent back")
    for name in continued:
        if reason := why_unanswered(exchanges[name]):
            yield Finding(f"/{name}/messages", "200 and an answer", reason)
