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
    """How many tokens the notes add that a request lacks.

    results: how many of the notes are in results of tools. in_parts: whether one of these results is a list of parts.
    """

    added: int
    notes: int
    results: int
    in_parts: bool

    def fits(self, usual: float, usual_result: float | None) -> bool:
        """Return whether each note adds about the usual number of tokens; unknown in a result, at least as many."""
        spare = SPARE_TOKENS + self.notes - 1
        if self.results and (usual_result is None or self.in_parts):
            return self.added >= self.notes * usual - spare
        return abs(self.added - self.expected(usual, usual_result)) <= spare

    def expected(self, usual: float, usual_result: float | None) -> float:
        """Return how many tokens the notes usually add."""
        return (self.notes - self.results) * usual + self.results * (usual_result or usual)


@series("prompt.notes-counted-alike", scenario=SCENARIO)
def a_note_counts_the_same_everywhere(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same note adds about as many prompt tokens in each part of a conversation: in instructions, questions and
    answers, also in parts, next to tools, forms and pictures, and in streams: it is not escaped, folded or repeated.

    It has letters of other cases and scripts, quotes, entities, tags, backslashes, and spaces in a row. In the result
    of a tool it may add more tokens, because models read some results as JSON, but as many in each result that is a
    string. Where it adds nothing at all it is lost, which is not judged here. Not judged if it does not add about as
    many tokens in most of at least three parts.
    """
    counts = {name: count for name, exchange in exchanges.items() if (count := _count_notes(name, exchange, exchanges))}
    texts = [count for count in counts.values() if not count.results]
    usual = median_low(count.added / count.notes for count in texts) if len(texts) >= LEAST_TEXTS else 0
    if not usual or sum(count.fits(usual, None) for count in texts) <= len(texts) / 2:
        raise NotExercised("too few requests with the note are answered, or it does not add a usual number of tokens")
    alone = [count.added for count in counts.values() if count.notes == count.results == 1 and not count.in_parts]
    usual_result = min((added for added in alone if added >= usual - SPARE_TOKENS), default=None)
    for name, count in counts.items():
        if not count.fits(usual, usual_result):
            yield Finding(
                f"/{name}/usage/prompt_tokens",
                f"about {count.expected(usual, usual_result):.0f} tokens less without the note, as in most other parts",
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
    results = [sent["content"] for sent, _ in changed if sent.get("role") == "tool"]
    return NoteCount(added, len(changed), len(results), any(isinstance(content, list) for content in results))


def _without_note(content: Any) -> Any:
    """Return a content, as text or in parts, without the note."""
    if isinstance(content, list):
        return [part for part in content if part != write_text(NOTE)]
    return content.removesuffix(f" {NOTE}") if isinstance(content, str) else content


def _messages(exchange: Exchange) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = exchange.request_json["messages"]
    return messages
