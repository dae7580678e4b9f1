"""TODO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import TALE, edit_text, with_text
from conformance.proof.mutants.mutant import Mutant, mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("relations.nothing-carried-over", steps="drawn-after.*")
def instructions_are_kept(exchange: Exchange) -> Exchange:
    """The instructions of the request before are heeded once more."""
    return edit_text(exchange, str.upper)


@mutant("relations.null-as-left-out", steps="nulled.*")
def null_is_zero(exchange: Exchange) -> Exchange:
    """A temperature of null is 0."""
    return with_text(exchange, TALE)


def _clipped(text: str) -> str:
    return text[1:]


def _another(check: str, part: str, sin: str) -> Mutant:
    """A server whose answer to one form of the request lacks its first character."""
    return Mutant(check, sin, lambda exchange: edit_text(exchange, _clipped), steps=f"{part}.*")


ORDER = _another("relations.order-of-members", "reversed", "Messages before the model are read as none.")


SPACE = _another("relations.white-space", "spaced", "A request over several lines is read otherwise.")


ESCAPES = _another("relations.escapes", "escaped", "Escaped characters are lost from the prompt.")


UNKNOWN = _another("relations.unknown-member", "unknown", "A member that nobody knows finds its way into the prompt.")


DEFAULTS = _another("relations.defaults-said", "defaults", "A default that is sent counts as something else.")


SEED = _another("relations.seed-when-greedy", "seeded", "A seed makes a greedy answer a sampled one.")


UNMET = _another("relations.stop-never-met", "unmet", "A stop text eats the first character of an answer without it.")


TOLD = _another("relations.logprobs-asked-for", "told", "An answer with log-probabilities is another one.")


ONE = _another("relations.one-choice-said", "one", "One choice that is asked for is drawn otherwise.")


TOOLLESS = _another("relations.tools-empty", "toolless", "An empty list of tools changes the prompt.")


STREAMED = _another("relations.streamed", "streamed", "The streamed answer lacks a character.")


@mutant("relations.shorter-is-a-beginning", steps="at-6")
def cut_answer_lacks_a_character(exchange: Exchange) -> Exchange:
    """An answer that is cut off lacks a character in its middle."""
    return edit_text(exchange, lambda text: text[:1] + text[2:])


@mutant("relations.streamed-cut-as-plain", steps="at-6-streamed")
def stream_shows_half_a_character(exchange: Exchange) -> Exchange:
    """A stream that is cut off ends with half a character."""
    return edit_text(exchange, lambda text: f"{text}\ufffd")


@mutant("relations.limit-grows", steps="roomy")
def answer_stretches_to_its_limit(exchange: Exchange) -> Exchange:
    """An answer goes on as long as it may."""
    return edit_text(exchange, lambda text: f"{text} And so on.")


@mutant("relations.long-streamed", steps="long-[pa]*")
def long_stream_loses_a_piece(exchange: Exchange) -> Exchange:
    """What is streamed lacks a piece of the long answer."""
    return edit_text(exchange, lambda text: f"{text[:60]} and lost {text[60:]}")
