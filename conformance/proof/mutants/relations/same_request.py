"""Mutants of answers that change although the request means the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import TALE, edit_text, with_text
from conformance.proof.mutants.mutant import Mutant, mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("relations.nothing-carried-over", steps="drawn-after.*")
def instructions_are_kept(exchange: Exchange) -> Exchange:
    """The instructions of the previous request have an effect on the next one."""
    return edit_text(exchange, str.upper)


@mutant("relations.null-as-left-out", steps="nulled.*")
def null_is_zero(exchange: Exchange) -> Exchange:
    """A temperature of null counts as 0."""
    return with_text(exchange, TALE)


def _clipped(text: str) -> str:
    return text[1:]


def _changes_answer(check: str, part: str, defect: str) -> Mutant:
    """Return a mutant whose answer to one form of the request lacks its first character."""
    return Mutant(check, defect, lambda exchange: edit_text(exchange, _clipped), steps=f"{part}.*")


ORDER = _changes_answer(
    "relations.order-of-members", "reversed", "Messages are ignored if they precede the model in the request."
)


SPACE = _changes_answer("relations.white-space", "spaced", "A request over several lines has another meaning.")


ESCAPES = _changes_answer("relations.escapes", "escaped", "Escaped characters are lost from the prompt.")


UNKNOWN = _changes_answer("relations.unknown-member", "unknown", "An unknown field becomes part of the prompt.")


DEFAULTS = _changes_answer("relations.defaults-said", "defaults", "A default that is sent counts as another value.")


SEED = _changes_answer("relations.seed-when-greedy", "seeded", "A seed turns a greedy answer into a sampled one.")


UNMET = _changes_answer(
    "relations.stop-never-met",
    "unmet",
    "A stop string removes the first character of an answer in which it does not occur.",
)


TOLD = _changes_answer("relations.logprobs-asked-for", "told", "Log-probabilities change the answer.")


ONE = _changes_answer("relations.one-choice-said", "one", "`n: 1` changes the answer.")


TOOLLESS = _changes_answer("relations.tools-empty", "toolless", "An empty list of tools changes the prompt.")


STREAMED = _changes_answer("relations.streamed", "streamed", "The streamed answer lacks a character.")
