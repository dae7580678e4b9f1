"""The grammar of value cells: rules that read one clause, or a few that belong together, and nothing by half."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openapi.reading.grammar import limits, notes, ranges, types, values
from openapi.reading.grammar.rule import Preceding

if TYPE_CHECKING:
    from openapi.reading.grammar.rule import GrammarRule
    from openapi.reading.grammar.statement import Statement

RULES: Final[tuple[GrammarRule, ...]] = (*values.RULES, *types.RULES, *ranges.RULES, *limits.RULES, *notes.RULES)


def pieces(text: str, name: str, before: Preceding = Preceding.NOTHING) -> list[Statement] | None:
    """What a stretch of plain text says of the parameter `name`; None when no rule reads the whole of it.

    An empty list: the stretch is understood and holds no fact. `before`: what stands before it in its sentence.
    """
    for rule in RULES:
        found = rule.read(text, name, before)
        if found is not None:
            return found
    return None
