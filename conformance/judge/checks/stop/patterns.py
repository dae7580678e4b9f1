"""Checks that stop strings are compared as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, NotObserved, relation, series
from conformance.judge.applicability import why_unanswered
from conformance.judge.checks.stop.strings import NOT_REPEATED, check_stopped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


@series("stop.patterns-are-text", scenario="stop-patterns")
def patterns_are_stop_texts(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    r"""A stop string is compared as it is, not as a pattern or converted: `.*` and `\w+` match only themselves.

    Reported if an answer ends early by itself, although none of its stop strings occurs in the answer without them.
    """
    for name in ("prose", "prose-again"):
        if name not in exchanges or why_unanswered(exchanges[name]):
            raise NotObserved(f"step {name!r} was not answered")
    whole = exchanges["prose"].content() or ""
    if whole != (exchanges["prose-again"].content() or ""):
        raise NotExercised(NOT_REPEATED)
    compared = 0
    for name, exchange in exchanges.items():
        stop = exchange.request_json.get("stop")
        stops = [stop] if isinstance(stop, str) else stop or []
        if not stops or why_unanswered(exchange) or any(text in whole for text in stops):
            continue
        compared += 1
        text = exchange.content() or ""
        if text != whole and whole.startswith(text):
            yield Finding(f"/{name}/choices/0/message/content", repr(whole)[:200], repr(text)[:200])
    if not compared:
        raise NotExercised("a stop string occurs in the answer, or no request with one was answered")


@relation("stop.marks-end-the-answer", over=("echoed", "at-a-mark", "at-a-mark-streamed"), unmet=why_unanswered)
def marks_end_the_answer(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A stop string with characters that have a meaning in patterns ends the answer where it occurs."""
    for name in ("at-a-mark", "at-a-mark-streamed"):
        yield from check_stopped(exchanges["echoed"], exchanges[name], context, name)


@relation("stop.line-ends-end-the-answer", over=("echoed", "at-a-line-end-streamed"), unmet=why_unanswered)
def line_ends_end_the_answer(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A stop string of a line end ends a stream where it occurs."""
    yield from check_stopped(
        exchanges["echoed"], exchanges["at-a-line-end-streamed"], context, "at-a-line-end-streamed"
    )


@relation("stop.blanks-end-the-answer", over=("echoed", "at-a-blank"), unmet=why_unanswered)
def blanks_end_the_answer(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A stop string of white space ends the answer where it occurs."""
    yield from check_stopped(exchanges["echoed"], exchanges["at-a-blank"], context, "at-a-blank")
