"""All rules of the grammar. A rule reads one clause, or several that belong together, completely or not at all.

Matching whole clauses keeps advice such as "better above 0.001" from being read as a range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openapi.reading.grammar import fields, limits, notes, ranges, types, values
from openapi.reading.grammar.quantities import amounts, elements, keyword_pairs, typed_amounts
from openapi.reading.grammar.quantities.number_words import write_digits
from openapi.reading.grammar.rule import Preceding

if TYPE_CHECKING:
    from openapi.reading.grammar.rule import GrammarRule
    from openapi.reading.grammar.statement import Statement

RULES: Final[tuple[GrammarRule, ...]] = (
    *values.RULES,
    *types.RULES,
    *ranges.RULES,
    *limits.RULES,
    *amounts.RULES,
    *typed_amounts.RULES,
    *keyword_pairs.RULES,
    *elements.RULES,
    *fields.RULES,
    *notes.RULES,
)


def read_clause(text: str, name: str, preceding: Preceding = Preceding.READ) -> list[Statement] | None:
    """Read a normalized piece of text about the parameter `name`; return None if no rule reads all of it.

    An empty list means that the text is understood and states nothing. `preceding`: what precedes it in its sentence.
    """
    for words in dict.fromkeys((text, write_digits(text))):
        for rule in RULES:
            statements = rule.read(words, name, preceding)
            if statements is not None:
                return statements
    return None
