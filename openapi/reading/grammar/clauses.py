"""Clauses: a paragraph cut into sentences, and sentences into clauses, never inside brackets or quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.rule import Preceding
from openapi.reading.grammar.rules import pieces
from openapi.reading.grammar.statement import Statement
from openapi.reading.grammar.vocabulary import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_CLAUSES: Final = 12  # that one rule may read together
_OPENING, _CLOSING = "([{", ")]}"
_CONDITION: Final = re.compile(
    r".*(?:时|除外|情况下|场景下?|模式下)|[若如当除在对否].*|(?:仅当|针对|通常|一般|建议|推荐|旧版|早期).*"
    r"|(?:also,? )?(?:if|when|while|where|unless|except|only (?:if|when|for|in|on)|provided|depending|otherwise|for|but"
    r"|in|on|under|with|without|during|before|after|since|previously|formerly|usually|typically|recommended)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_TELLING: Final = re.compile(
    r"\d|null|\b(?:must|cannot|can not|only|default|required|mandatory|optional|at least|at most|maximum size|minimum"
    r"|limit\w*|exceed\w*|not support\w*|invalid)\b"
    r"|必须|不能|不可|仅|只|默认|必选|可选|范围|最大值|最小值|不超过|至少|至多|不支持|报错",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ParsedText:
    """What a text says, and the stretches that no rule reads."""

    pieces: tuple[Statement, ...] = ()
    unread: tuple[str, ...] = ()


def is_telling(text: str) -> bool:
    """Whether prose may hold a fact: it has a figure, a null, or a word of limits and conditions."""
    return bool(_TELLING.search(plain(text)))


def read_text(text: str, name: str) -> ParsedText:
    """Reads a paragraph about the parameter `name`, sentence by sentence."""
    found: list[Statement] = []
    unread: list[str] = []
    for start, end in _cut(plain(text), _is_full_stop):
        said = _read_sentence(text[start:end], name)
        found += said.pieces
        unread += said.unread
    return ParsedText(tuple(found), tuple(unread))


def _read_sentence(text: str, name: str) -> ParsedText:
    """Clause by clause; the longest run of clauses that a rule reads wins.

    What follows an unread condition depends on it and is left with it; so is all before one that ends the sentence.
    """
    spans = list(_cut(plain(text), _is_comma))
    found: list[Statement] = []
    unread: list[str] = []
    begun = False  # whether the first clause is read
    begin = None  # of a stretch of clauses that no rule reads
    at = 0
    while at < len(spans):
        before = Preceding.NOTHING if not unread and begin is None else Preceding.BEGUN if begun else Preceding.ANYTHING
        end, read = _longest(text, spans, at, name, before)
        stretch = text[spans[at][0] : spans[end - 1][1]].strip()
        if read is None and _CONDITION.fullmatch(_bare(stretch)):
            if at > 0 and end == len(spans):
                return ParsedText((), (text.strip(),))
            return ParsedText(tuple(found), (*unread, text[spans[at if begin is None else begin][0] :].strip()))
        begun = begun or (at == 0 and read is not None)
        if read is None:
            begin = at if begin is None else begin
        elif begin is not None:
            unread.append(text[spans[begin][0] : spans[at - 1][1]].strip())
            begin = None
        for piece in read or ():
            if piece.attribute == "unread":
                unread.append(piece.value.strip())
            else:
                found.append(Statement(piece.attribute, piece.value, stretch, piece.at))
        at = end
    if begin is not None:
        unread.append(text[spans[begin][0] : spans[-1][1]].strip())
    return ParsedText(tuple(found), tuple(unread))


def _longest(
    text: str, spans: list[tuple[int, int]], at: int, name: str, before: Preceding
) -> tuple[int, list[Statement] | None]:
    """The end of the longest run of clauses that is read, and what it says; the next clause alone where none is."""
    for end in range(min(len(spans), at + MOST_CLAUSES), at, -1):
        read = pieces(_bare(text[spans[at][0] : spans[end - 1][1]]), name, before)
        if read is not None:
            return end, read
    return at + 1, None


def _bare(text: str) -> str:
    """Plain, with single spaces and without the full stop."""
    return " ".join(plain(text).split()).rstrip("。.").rstrip()


def _is_comma(text: str, at: int) -> bool:
    """A comma between two figures belongs to their number."""
    return text[at] in ",;" and not (text[at - 1 : at].isdigit() and text[at + 1 : at + 2].isdigit())


def _is_full_stop(text: str, at: int) -> bool:
    if text[at] == "。":
        return True
    return (
        text[at] == "." and (at + 1 == len(text) or text[at + 1].isspace()) and not text[:at].endswith(("i.e", "e.g"))
    )


def _cut(text: str, ends: Callable[[str, int], bool]) -> Iterator[tuple[int, int]]:
    """Where the stretches between the ends begin and stop; what `ends` says of a place inside brackets is not asked."""
    depth, quoted, start = 0, False, 0
    for at, sign in enumerate(text):
        if sign == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth = max(depth - 1, 0)
        elif depth == 0 and ends(text, at):
            if text[start:at].strip():
                yield start, at
            start = at + 1
    if text[start:].strip():
        yield start, len(text)
