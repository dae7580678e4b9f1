"""A rule of the grammar: a pattern for a whole stretch of text, and what it says when it fits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.reading.grammar.statement import Statement

    Build = Callable[[re.Match[str], str], list[Statement] | None]


class Preceding(IntEnum):
    """What may stand before a clause in its sentence, so that the clause still means what it says alone."""

    NOTHING = 0  # only clauses that are read
    BEGUN = 1  # also unread ones, after a first one that is read: the sentence is about the value
    ANYTHING = 2  # also an unread beginning, which may say of what, when or where the rest is true


@dataclass(frozen=True, slots=True)
class GrammarRule:
    """`build` gets the match and the parameter's name; it may still decline, with None. `after`: where it may stand."""

    pattern: re.Pattern[str]
    build: Build
    after: Preceding = Preceding.BEGUN

    def read(self, text: str, name: str, before: Preceding = Preceding.NOTHING) -> list[Statement] | None:
        """What the whole text says, or None. `before`: what stands before it in its sentence."""
        if before > self.after:
            return None
        match = self.pattern.fullmatch(text)
        return None if match is None else self.build(match, name)


def rule(pattern: str, build: Build, after: Preceding = Preceding.BEGUN) -> GrammarRule:
    """A rule whose pattern ignores case and takes any run of spaces for one."""
    return GrammarRule(re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE), build, after)
