"""A rule of the grammar: a pattern for a whole piece of text, and the statements that it makes."""

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
    """What precedes a clause in its sentence. A rule states how much it tolerates without a change of meaning."""

    READ = 0  # nothing, or only clauses that rules read
    FIRST_READ = 1  # also unread clauses, if a rule read the first one: the sentence is about the value
    ANYTHING = 2  # also an unread first clause, which may restrict the rest to a subject, a time or a place


@dataclass(frozen=True, slots=True)
class GrammarRule:
    """A pattern and the function that builds its statements.

    build: gets the match and the name of the parameter; may return None to reject the match.
    preceding: the most that may precede the clause.
    """

    pattern: re.Pattern[str]
    build: Build
    preceding: Preceding = Preceding.FIRST_READ

    def read(self, text: str, name: str, preceding: Preceding = Preceding.READ) -> list[Statement] | None:
        """Read the whole text; return None if the rule does not match or tolerates less than `preceding`."""
        if preceding > self.preceding:
            return None
        match = self.pattern.fullmatch(text)
        return None if match is None else self.build(match, name)


def rule(pattern: str, build: Build, preceding: Preceding = Preceding.FIRST_READ) -> GrammarRule:
    """Make a rule whose pattern ignores case and matches any whitespace for a space."""
    return GrammarRule(re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE), build, preceding)
