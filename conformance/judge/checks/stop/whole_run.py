"""Check every stopped answer of a run by the answer to the same request without stop strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.check import Context, Finding, NotExercised, check
from conformance.judge.checks.stop.strings import STOPPED, is_left_out
from conformance.judge.evidence.run_answers import require_answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

FEW: Final = 12
"""Most characters that are lost in front of a stop string. An answer that lacks more may have ended by itself."""
LEAST: Final = 4  # characters, about one token
BEYOND: Final = 3  # characters behind the stop string's beginning by which an answer shows that it goes on


@check("stop.ends-the-same-text", on=STOPPED)
def a_stop_string_only_cuts_the_text(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """Next to any other parameters, an answer with stop strings is the one without them up to the first of them.

    Nothing behind a stop string is kept, nothing in front of it is lost, and a part of one ends nothing. Answers that
    diverge before are not compared, and an empty one lost nothing: the string may occur in reasoning that is not shown,
    or in white space that is left out.
    """
    if not is_left_out(exchange, context):
        raise NotExercised("streams of this dialect include the stop string")
    sent: Any = exchange.request_json
    stops = [sent["stop"]] if isinstance(sent["stop"], str) else sent["stop"]
    unstopped = require_answers(context).unstopped_text_of(exchange)
    if unstopped is None:
        raise NotExercised("the run has no answer to the same request without stop strings")
    choice = unstopped.exchange.choices[unstopped.index]
    if choice.reasoning or any(other.reasoning for other in exchange.choices.values()):
        raise NotExercised("a stop string may occur in the reasoning")
    whole = choice.content
    ends = [at for stop in stops if stop and (at := whole.find(stop)) >= 0]
    for index, own in exchange.choices.items():
        if index and sent.get("temperature") != 0:  # a seed gives each choice an answer of its own
            continue
        text = own.content
        expected = whole[: min(ends)] if ends else whole
        ended = own.finish_reason == "stop" and expected.startswith(text)
        is_cut = ended and bool(text.strip()) and _is_lost(expected[len(text) :], stops, at_stop=bool(ends))
        if is_cut or (ends and _goes_on(text, expected, whole)):
            yield Finding(f"/choices/{index}/message/content", repr(expected)[:200], repr(text)[:200])


def _goes_on(text: str, expected: str, whole: str) -> bool:
    """Return whether an answer continues where it should have ended. After a few characters, as the whole one does."""
    further = text[: len(expected) + BEYOND]
    is_same = text.startswith(expected) if len(expected) >= 2 * LEAST else whole.startswith(further)
    return is_same and bool(further[len(expected) :].strip())


def _is_lost(rest: str, stops: list[str], *, at_stop: bool) -> bool:
    """Return whether the text that an answer lacks was lost in front of a stop string, or cut by a part of one."""
    if not rest.strip():
        return False
    words = [stop.split()[0].casefold() for stop in stops if stop.split()]
    begun = any(rest.lstrip().casefold().startswith(word) for word in words if len(word) < LEAST * 3)
    return (at_stop and len(rest) <= FEW) or (begun and len(rest) >= LEAST)
