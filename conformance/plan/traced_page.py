"""The lines of a pinned page, each with the sentences that it states and the checks that judge them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.plan.traced_sentences import TracedSentence
    from openapi.contract.page.page_coverage import PageCoverage

LineKind = Literal["judged", "schema", "excluded", "prose", "unmapped"]
LINE_KINDS: Final[tuple[LineKind, ...]] = ("judged", "schema", "excluded", "prose", "unmapped")
_KINDS: Final[dict[str, LineKind]] = {"check": "judged", "schema": "schema", "excluded": "excluded"}


@dataclass(frozen=True, slots=True)
class TracedPassage:
    """Adjacent lines of a page with the same coverage. `texts`: of each line; empty if the page is not available."""

    lines: tuple[int, ...]
    texts: tuple[str, ...]
    sentences: tuple[TracedSentence, ...]
    reason: str

    @property
    def numbers(self) -> str:
        """The first and the last number of its lines, such as `12-27`."""
        return str(self.lines[0]) if len(self.lines) == 1 else f"{self.lines[0]}-{self.lines[-1]}"

    @property
    def kind(self) -> LineKind:
        """How it is covered: judged if a check judges one of its sentences, excluded if all of them are excluded."""
        if self.reason:
            return "prose"
        kinds = {sentence_kind(item) for item in self.sentences}
        return next((kind for kind in LINE_KINDS if kind in kinds), "unmapped")


def sentence_kind(item: TracedSentence) -> LineKind:
    """Return how a sentence is covered."""
    return _KINDS.get(item.sentence.home.kind, "unmapped")


def trace_passages(
    coverage: PageCoverage, traced: Sequence[TracedSentence], page: Sequence[str] | None
) -> tuple[TracedPassage, ...]:
    """Return all lines that have text, in order. `page`: the text of every line, if the page is available."""
    by_id = {item.sentence.id: item for item in traced}
    numbers = (number for number in range(1, coverage.lines + 1) if number not in coverage.empty)
    grouped = groupby(numbers, key=lambda number: (coverage.find_sentences(number), coverage.find_reason(number)))
    passages = []
    for (names, reason), group in grouped:
        lines = tuple(group)
        texts = tuple(page[number - 1] for number in lines) if page else ()
        sentences = tuple(by_id[name] for name in names if name in by_id)
        passages.append(TracedPassage(lines, texts, sentences, reason))
    return tuple(passages)


def count_lines(passages: Sequence[TracedPassage]) -> dict[LineKind, int]:
    """Count the lines with text of each kind."""
    counts = dict.fromkeys(LINE_KINDS, 0)
    for passage in passages:
        counts[passage.kind] += len(passage.lines)
    return counts
