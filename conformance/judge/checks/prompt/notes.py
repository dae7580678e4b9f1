"""Check whether the same note counts the same number of tokens in each part of a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING, Any, Final

from conformance.check import Context, Finding, NotExercised, series
from conformance.judge.applicability import why_unanswered
from conformance.judge.token_counts import known_prompt_count
from conformance.plan.scenarios.prompts.clauses import NOTE, write_text
from conformance.plan.scenarios.prompts.prompt_parts import SCENARIO, WITHOUT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

SPARE_TOKENS: Final = 2
"""By how many tokens counts may differ: a note may be joined to the text in front of it by another character."""
LEAST_TEXTS: Final = 3


@dataclass(frozen=True, slots=True)
class NoteCount:
    """How many tokens the notes add that a request lacks. in_results: whether one is in the result of a tool."""

    added: int
    notes: int
    in_results: bool

    def fits(self, usual: float) -> bool:
        """Return whether each note adds about the usual number of tokens; in results it may be more."""
        more, spare = self.added - self.notes * usual, SPARE_TOKENS + self.notes - 1
        return -spare <= more and (self.in_results or more <= spare)


@series("prompt.notes-counted-alike", scenario=SCENARIO)
def a_note_counts_the_same_everywhere(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same note adds about as many prompt tokens in each part of a conversation: in instructions, questions and
    answers, also in parts, next to tools and pictures, and in streams. It is nowhere escaped, folded or repeated.

    It has letters of other cases and scripts, quotes, entities, tags, backslashes, and spaces in a row. In the result
    of a tool it may add more tokens, because models read some results as JSON. Where it adds nothing at all it is lost,
    which is not judged here. Not judged if it does not add about as many tokens in most of at least three parts.
    """
    counts = {name: count for name, exchange in exchanges.items() if (count := _count_notes(name, exchange, exchanges))}
    texts = [count for count in counts.values() if not count.in_results]
    usual = median_low(count.added / count.notes for count in texts) if len(texts) >= LEAST_TEXTS else 0
    if not usual or sum(count.fits(usual) for count in texts) <= len(texts) / 2:
        raise NotExercised("too few requests with the note are answered, or it does not add a usual number of tokens")
    for name, count in counts.items():
        if not count.fits(usual):
            yield Finding(
                f"/{name}/usage/prompt_tokens",
                f"about {usual * count.notes:.0f} tokens less without the note, as in most other parts",
                f"{count.added} less",
            )


def _count_notes(name: str, exchange: Exchange, exchanges: Mapping[str, Exchange]) -> NoteCount | None:
    """Return what the notes count that a request lacks; None if that is unknown, or if it lacks anything else."""
    whole = exchanges.get(name.partition(WITHOUT)[0])
    if whole is None or whole is exchange or why_unanswered(whole) or why_unanswered(exchange):
        return None
    pairs = list(zip(_messages(whole), _messages(exchange), strict=False))
    changed = [(sent, other) for sent, other in pairs if sent.get("content") != other.get("content")]
    added = known_prompt_count(whole) - known_prompt_count(exchange)
    differ = any(_without_note(sent.get("content")) != other.get("content") for sent, other in changed)
    if not changed or differ or added <= 0:
        return None
    return NoteCount(added, len(changed), any(sent.get("role") == "tool" for sent, _ in changed))


def _without_note(content: Any) -> Any:
    """Return a content, as text or in parts, without the note."""
    if isinstance(content, list):
        return [part for part in content if part != write_text(NOTE)]
    return content.removesuffix(f" {NOTE}") if isinstance(content, str) else content


def _messages(exchange: Exchange) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = exchange.request_json["messages"]
    return messages
