"""Mutants of prompt_tokens: part of the prompt is dropped, or the count depends on something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import add_tokens, edit_usage
from conformance.proof.mutants.mutant import Mutant, mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def _of_one_token(exchange: Exchange) -> Exchange:
    return edit_usage(
        exchange, lambda usage: usage.update(prompt_tokens=1, total_tokens=usage["completion_tokens"] + 1)
    )


def _dropped_part(check: str, defect: str, steps: str | None = None) -> Mutant:
    """Return a mutant of a server that drops part of the prompt and does not count it."""
    return Mutant(check, defect, _of_one_token, steps=steps)


LONG = _dropped_part("usage.prompt-grows", "The longer prompt counts one token.")


SYSTEM = _dropped_part("usage.system-counted", "The system message is dropped and not counted.")


HISTORY = _dropped_part("usage.history-counted", "All turns except the last are dropped and not counted.")


TOOLS = _dropped_part("usage.tool-results-counted", "Tool results are dropped and not counted.")


TURNS = _dropped_part("usage.turns-with-tools-counted", "What stands next to calls is dropped and not counted.", "main")


@mutant("usage.parts-counted-as-text", steps="answered-in-parts")
def parts_become_json(exchange: Exchange) -> Exchange:
    """The result of a tool as a list of parts becomes JSON in the prompt."""
    return add_tokens(exchange, prompt=20)


CALLS = _dropped_part(
    "usage.tool-calls-counted",
    "The arguments of earlier calls are dropped and not counted.",
    "answered-after-a-long-call",
)


@mutant("usage.long-calls-counted", steps="answered-after-a-long-call")
def long_arguments_are_cut(exchange: Exchange) -> Exchange:
    """The arguments of earlier calls are cut after some hundred characters."""
    return add_tokens(exchange, prompt=-300)


RARE = _dropped_part("usage.rare-characters-counted", "Characters beyond the basic plane are dropped.", "rare")


MARKS = _dropped_part("usage.marks-remove-nothing", "What precedes a mark is dropped.", "words-and-marks")


@mutant("usage.marks-add-nothing", steps="words-and-quotes")
def marks_become_entities(exchange: Exchange) -> Exchange:
    """Quotes and angle brackets of a prompt are rewritten as entities."""
    return add_tokens(exchange, prompt=500)


NUL = _dropped_part("usage.nul-ends-nothing", "A prompt ends at its first NUL character.", "behind-nul")


ANSWERS = _dropped_part(
    "usage.answers-counted", "Earlier messages of the assistant are dropped.", "second-turn-at-length"
)


PARTS = _dropped_part("usage.parts-counted", "Only some parts of a content in parts are read.", "in-parts")


@mutant("usage.prompt-repeats")
def same_prompt_counts_one_more(exchange: Exchange) -> Exchange:
    """The same prompt counts one token more the second time."""
    return add_tokens(exchange, prompt=1)


@mutant("usage.prompt-counted-alone", steps="at-3")
def limit_is_counted_as_prompt(exchange: Exchange) -> Exchange:
    """prompt_tokens includes the space that max_tokens reserves for the answer."""
    return add_tokens(exchange, prompt=3)


@mutant("usage.prompt-counted-once", steps="seeded-choices")
def prompt_is_counted_for_each_choice(exchange: Exchange) -> Exchange:
    """The prompt is counted once for each choice."""
    return edit_usage(exchange, lambda usage: usage.update(prompt_tokens=usage["prompt_tokens"] * 5))


@mutant("usage.long-prompts-counted", steps="two-thousand")
def long_prompt_is_cut(exchange: Exchange) -> Exchange:
    """A long prompt is cut without notice."""
    return add_tokens(exchange, prompt=-500)


@mutant("usage.long-histories-counted", steps="twelve-turns")
def oldest_turns_are_left_out(exchange: Exchange) -> Exchange:
    """Of twelve turns the oldest three are left out."""
    return add_tokens(exchange, prompt=-60)


@mutant("usage.long-prompt-repeats", steps="thousand-again")
def cached_tokens_are_left_out(exchange: Exchange) -> Exchange:
    """Cached tokens of a prompt are not counted."""
    return add_tokens(exchange, prompt=-256)


@mutant("usage.cached-in-streams", steps="thousand-*")
def cached_tokens_are_counted_in_plain_answers_only(exchange: Exchange) -> Exchange:
    """Cached tokens are not counted in streams."""
    count = 0 if exchange.is_stream else 512
    details = {"prompt_tokens_details": {"cached_tokens": count}}
    return edit_usage(exchange, lambda usage: usage.update(details))
