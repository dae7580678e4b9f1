"""A check of the text next to calls, which does not depend on the form of the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, relation
from conformance.judge.applicability import why_unanswered
from conformance.judge.checks.tools.calls import parse_call

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


@relation("tools.streamed-text-as-plain", over=("plain", "streamed"), unmet=why_unanswered)
def text_next_to_streamed_calls_is_the_plain_one(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same greedy request has the same text next to the same calls, streamed and plain, apart from white space."""
    plain, streamed = (exchange.first_choice for exchange in exchanges.values())
    if plain is None or streamed is None or not plain.tool_calls:
        raise NotExercised("no tool is called")
    if [*map(parse_call, plain.tool_calls)] != [*map(parse_call, streamed.tool_calls)]:
        raise NotExercised("the calls differ")
    if plain.content.split() != streamed.content.split():
        expected = repr(plain.content)[:200]
        yield Finding("/streamed/choices/0/message/content", f"{expected}, as plain", repr(streamed.content)[:200])
