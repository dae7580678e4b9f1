"""Split a paragraph into sentences and clauses, never inside brackets or quotes, and read each clause.

A clause after an unread condition, or in a sentence that begins with unread words, is not read either: the condition or
the beginning may restrict it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.descriptions import describes_value, is_span_of_years, split_description
from openapi.reading.grammar.quantities.surroundings import is_restricting
from openapi.reading.grammar.rule import Preceding
from openapi.reading.grammar.rules import read_clause
from openapi.reading.grammar.statement import Statement
from openapi.reading.grammar.vocabulary import SET, normalize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_BRACKET: Final = re.compile(
    r"(?P<outer>.+?)\s*\((?P<inner>(?:[^()]|[(\[][^()\[\]]*[)\]])+)\)\s*", re.DOTALL
)  # the inner words may have an interval, such as (0, 1]
_NEXT: Final = frozenset({"items", "count", "default", "required"})
"""What a clause behind a description may state, other than a range."""
_INTERVAL: Final = re.compile(SET, re.IGNORECASE)
MAX_CLAUSES: Final = 12  # that one rule may read together
_OPENING, _CLOSING = "([{", ")]}"
_SHORTENED: Final = re.compile(r"\b(?:max|min)\.\s\d", re.IGNORECASE)
_RANGE: Final = re.compile(r"\.\.\s+[-+]?\d")
_CONDITION: Final = re.compile(
    r".*(?:时|除外|情况下|场景下?|模式下)|[若如当除在对否].*|(?:仅当|针对|通常|一般|建议|推荐|旧版|早期).*"
    r"|(?:also,? )?(?:if|or|when|while|where|unless|except|only (?:if|when|for|in|on)|provided|depending|otherwise|for"
    r"|but|in|on|under|with|without|during|before|after|since|previously|formerly|usually|typically|recommended)\b.*",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ParsedText:
    """The statements of a paragraph or cell, and the parts of it that no rule reads.

    prose: parts that no rule reads either, and that do not seem to state a fact.
    """

    statements: tuple[Statement, ...] = ()
    unread: tuple[str, ...] = ()
    prose: tuple[str, ...] = ()


def join(parts: Iterable[ParsedText]) -> ParsedText:
    """Join the results of several texts."""
    listed = list(parts)
    return ParsedText(
        tuple(statement for part in listed for statement in part.statements),
        tuple(text for part in listed for text in part.unread),
        tuple(text for part in listed for text in part.prose),
    )


def read_text(text: str, name: str) -> ParsedText:
    """Read a paragraph about the parameter `name`, sentence by sentence."""
    statements: list[Statement] = []
    unread: list[str] = []
    for start, end in _split(normalize(text), _is_full_stop):
        sentence = _read_sentence(text[start:end], name)
        if sentence.unread:
            sentence = _read_bracket(text[start:end], name) or sentence
        statements += sentence.statements
        unread += sentence.unread
    return ParsedText(tuple(statements), tuple(unread))


def _read_bracket(text: str, name: str) -> ParsedText | None:
    """Read a sentence that ends with a fact in brackets, `Sends pieces (default false)`, and restricts it in no way."""
    match = _BRACKET.fullmatch(normalize(text))
    if match is None:
        return None
    inner, outer = (_read_sentence(text[slice(*match.span(part))], name) for part in ("inner", "outer"))
    is_fact = (_states_fact(inner.statements) or _INTERVAL.search(match["inner"])) and not inner.unread
    if not is_fact or not (outer.statements or not is_restricting(normalize(match["outer"]).lower())):
        return None
    return join([outer, inner])


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph without their full stops."""
    return (text[start:end].strip() for start, end in _split(normalize(text), _is_full_stop))


def _read_sentence(text: str, name: str) -> ParsedText:
    """Read a sentence clause by clause; the longest run of clauses that a rule reads is used.

    Clauses that follow an unread condition depend on it and remain unread. If the condition ends the sentence, all of
    the sentence remains unread.
    """
    spans = list(_split(normalize(text), _is_comma))
    statements: list[Statement] = []
    unread: list[str] = []
    first_read = False
    unread_from = None  # first clause of a run that no rule reads
    is_described = False  # whether the only unread clause is the first one, and describes the value
    at = 0
    while at < len(spans):
        if is_described or (not unread and unread_from is None):
            preceding = Preceding.READ
        else:
            preceding = Preceding.FIRST_READ if first_read else Preceding.ANYTHING
        end, read = _read_longest(text, spans, at, name, preceding)
        words = text[spans[at][0] : spans[end - 1][1]].strip()
        described = _read_described(words, name) if at == 0 and read is None else None
        if described is not None:
            statements += described.statements
            unread += described.unread
            is_described, at = True, end
            continue
        is_described = is_described or (at == 0 and read is None and _is_description(text, spans, name))
        if read is None and _CONDITION.fullmatch(_normalize_clause(words)):
            if at > 0 and end == len(spans):
                return ParsedText((), (text.strip(),))
            start = spans[at if unread_from is None else unread_from][0]
            return ParsedText(tuple(statements), (*unread, text[start:].strip()))
        first_read = first_read or (at == 0 and read is not None)
        if read is None:
            is_described = is_described and at == 0
            unread_from = at if unread_from is None else unread_from
        elif unread_from is not None:
            unread.append(text[spans[unread_from][0] : spans[at - 1][1]].strip())
            unread_from = None
        for statement in read or ():
            if statement.attribute == "unread":
                unread.append(statement.value.strip())
            else:
                statements.append(Statement(statement.attribute, statement.value, words, statement.at))
        at = end
    if unread_from is not None:
        unread.append(text[spans[unread_from][0] : spans[-1][1]].strip())
    return ParsedText(tuple(statements), tuple(unread))


def _read_described(words: str, name: str) -> ParsedText | None:
    """Read a first clause that states a range behind a description without a comma; None for another."""
    for head, tail in split_description(normalize(words).rstrip(". ")):
        inner = _read_sentence(tail, name)
        if inner.unread or not _states_fact(inner.statements) or is_span_of_years(tail):
            continue
        if describes_value(head, name):
            return ParsedText(inner.statements, (words[: len(head)],))
        outer = read_clause(_normalize_clause(head), name)
        if outer:
            stated = (Statement(item.attribute, item.value, words, item.at) for item in outer)
            return ParsedText((*stated, *inner.statements))
    return None


def _states_fact(statements: Iterable[Statement]) -> bool:
    """Return whether statements state a fact that may follow a description: one bound alone may be advice."""
    return any(
        all(None not in (one.low, one.high) for one in statement.value)
        if statement.attribute == "range"
        else statement.attribute in _NEXT
        for statement in statements
    )


def _is_description(text: str, spans: list[tuple[int, int]], name: str) -> bool:
    """Return whether the first clause only describes the value, and the next one states a fact about it."""
    if len(spans) == 1 or not describes_value(text[slice(*spans[0])], name):
        return False
    end, read = _read_longest(text, spans, 1, name, Preceding.READ)
    return _states_fact(read or ()) and not is_span_of_years(text[spans[1][0] : spans[end - 1][1]])


def _read_longest(
    text: str, spans: list[tuple[int, int]], at: int, name: str, preceding: Preceding
) -> tuple[int, list[Statement] | None]:
    """Read the longest possible run of clauses; return its end and its statements, or the next clause and None."""
    for end in range(min(len(spans), at + MAX_CLAUSES), at, -1):
        statements = read_clause(_normalize_clause(text[spans[at][0] : spans[end - 1][1]]), name, preceding)
        if statements is not None:
            return end, statements
    return at + 1, None


def _normalize_clause(text: str) -> str:
    """Normalize the characters and spaces of a clause, and remove its full stop and spaces in front of separators."""
    words = " ".join(normalize(text).split()).rstrip("。.").rstrip()
    return re.sub(r" (?=[,;])", "", words)


def _is_comma(text: str, at: int) -> bool:
    """Return whether there is a separator at an offset; a comma between two digits belongs to a number."""
    return text[at] in ",;" and not (text[at - 1 : at].isdigit() and text[at + 1 : at + 2].isdigit())


def _is_full_stop(text: str, at: int) -> bool:
    if text[at] == "。":
        return True
    if text[at] != "." or not (at + 1 == len(text) or text[at + 1].isspace()):
        return False
    if _RANGE.match(text, at - 1):  # 0.0 .. 2.0
        return False
    return not (text[:at].endswith(("i.e", "e.g")) or _SHORTENED.search(text, max(at - 4, 0), at + 3))


def _split(text: str, is_end: Callable[[str, int], bool]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each part between the offsets where `is_end` is true, outside brackets and quotes."""
    depth, quoted, start = 0, False, 0
    for at, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth = max(depth - 1, 0)
        elif depth == 0 and is_end(text, at):
            if text[start:at].strip():
                yield start, at
            start = at + 1
    if text[start:].strip():
        yield start, len(text)
