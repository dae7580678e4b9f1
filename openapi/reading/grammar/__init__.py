"""The grammar of value cells: rules that read one clause, or a few that belong together, and nothing by half."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openapi.reading.grammar import limits, notes, ranges, types, values

if TYPE_CHECKING:
    from openapi.reading.fact import Piece
    from openapi.reading.grammar.rule import Rule

RULES: Final[tuple[Rule, ...]] = (*values.RULES, *types.RULES, *ranges.RULES, *limits.RULES, *notes.RULES)


def pieces(text: str, name: str, *, after_unread: bool = False) -> list[Piece] | None:
    """What a stretch of plain text says of the parameter `name`; None when no rule reads the whole of it.

    An empty list: the stretch is understood and holds no fact. `after_unread`: words before it in its sentence are
    not understood.
    """
    for rule in RULES:
        found = None if rule.bare and after_unread else rule.read(text, name)
        if found is not None:
            return found
    return None
