"""Mutants of answers that change although the request means the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import TALE, add_tokens, edit_text, with_text
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


@mutant("relations.shorter-is-a-beginning", steps="at-6")
def cut_answer_lacks_a_character(exchange: Exchange) -> Exchange:
    """An answer that is cut off lacks a character in its middle."""
    return edit_text(exchange, lambda text: text[:1] + text[2:])


@mutant("relations.streamed-cut-as-plain", steps="at-6-streamed")
def stream_shows_half_a_character(exchange: Exchange) -> Exchange:
    """A stream that is cut off ends with part of a character."""
    return edit_text(exchange, lambda text: f"{text}\ufffd")


@mutant("relations.limit-grows", steps="roomy")
def answer_stretches_to_its_limit(exchange: Exchange) -> Exchange:
    """An answer continues up to its limit."""
    return edit_text(exchange, lambda text: f"{text} And so on.")


@mutant("relations.long-streamed", steps="long-[pa]*")
def long_stream_loses_a_piece(exchange: Exchange) -> Exchange:
    """The streamed long answer lacks a piece."""
    return edit_text(exchange, lambda text: f"{text[:60]} and lost {text[60:]}")


@mutant("relations.same-throughout", steps="plain.[456]")
def answers_change_in_the_end(exchange: Exchange) -> Exchange:
    """In the second half of a run answers are other ones."""
    return edit_text(exchange, lambda text: f"{exchange.step}: {text}")


@mutant("relations.counted-the-same-throughout", steps="plain.6")
def counts_change_in_the_end(exchange: Exchange) -> Exchange:
    """At the end of a run the tokens of an earlier request are counted too."""
    return add_tokens(exchange, prompt=2)


@mutant("relations.long-prompt-repeats", steps="thousand-again")
def cached_prompt_is_another_one(exchange: Exchange) -> Exchange:
    """A cached prompt is answered like another prompt."""
    return edit_text(exchange, lambda text: f"No. {text}")


@mutant("relations.paired-streamed-as-plain", steps="paired")
def forms_differ_with_several_parameters(exchange: Exchange) -> Exchange:
    """With several parameters a plain answer lacks its beginning."""
    return with_text(exchange, TALE)


@mutant("relations.same-after-others", steps="drawn-after-tools")
def tools_are_kept(exchange: Exchange) -> Exchange:
    """The tools of one request are offered in the next one too."""
    return edit_text(exchange, lambda text: f"I have a tool. {text}")
