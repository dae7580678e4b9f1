"""Read the statuses of errors: from sentences, and from rows, entries and headings that begin with a status."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from openapi.reading.answers.json_text import without_json
from openapi.reading.answers.sentences import split_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi.reading.answers.passages import Passage

ERRORS: Final = re.compile(
    r"\berrors?\b|\bfail(?:s|ed|ure|ures|ing)?\b|\binvalid\b|\brefus\w+|\breject\w*|\bmalformed\b|\bunauthori[sz]ed\b"
    r"|\b(?:wrong|bad|missing|unknown)\b|\bproblems?\b|\bstatus(?:es)?(?: codes?)?\b|错误|失败|异常|状态码",
    re.IGNORECASE,
)
"""Words of a heading or a sentence about errors."""
_TITLE: Final = re.compile(
    r"\bgo(?:es)? wrong\b|\berrors?\b|\bfailures?\b|\bproblems\b|\bstatus(?:es| codes?)\b|\bhttp codes?\b"
    r"|错误|异常|状态码",
    re.IGNORECASE,
)
_STATUS: Final = (
    r"(?<![\w.,/-])(?P<status>[45]\d\d)(?![\w/]|[.,]\d|\s*(?:tokens?|characters?|messages?|items?|%|ms\b|KB\b|MB\b))"
)
_FIRST: Final = re.compile(rf"\W*(?:HTTP(?: status)?(?: code)?\s+)?`?{_STATUS}")
_ANY: Final = re.compile(_STATUS)
_SEPARATOR: Final = re.compile(r"([;,](?:\s+and)?\s+|\s+and\s+)")
_LEADING: Final = re.compile(
    r"\bHTTP\b|\bstatus\b|\bcode\b|\bwith\b|\bgets?\b|\breturn\w*|\banswer\w*|\brespon\w+", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class StatedStatus:
    """A status of errors and the words that say when a server sends it."""

    status: int
    words: str
    line: int


def is_about_errors(titles: Sequence[str]) -> bool:
    """Return whether the innermost heading, or one above it that no other part contradicts, is about errors."""
    return any(_TITLE.search(title) for title in titles[:2])


def read_statuses(passage: Passage) -> Iterator[StatedStatus]:
    """Yield the statuses that a passage outside of tables states."""
    below = is_about_errors(passage.headings) or (passage.kind == "title" and is_about_errors(passage.headings[:1]))
    for sentence in split_sentences(passage.text):
        words = without_json(sentence)
        if _FIRST.match(words) and below:
            yield from _in_clause(words, passage.line)
        elif below or (ERRORS.search(words) and _LEADING.search(words)):
            for clause in _split_clauses(words):
                yield from _in_clause(clause, passage.line)


def names_status(sentence: str) -> bool:
    """Return whether a sentence has the number of a status next to a word such as `status` or `gets`."""
    return _ANY.search(sentence) is not None and _LEADING.search(sentence) is not None


def read_row(cells: Sequence[str], headings: Sequence[str], headers: Sequence[str], line: int) -> StatedStatus | None:
    """Return the status of a row of a table about errors; None if its first cells have none."""
    if not (is_about_errors(headings) or any(map(_TITLE.search, headers))):
        return None
    for at, cell in enumerate(cells[:2]):
        match = _FIRST.match(cell)
        if match is not None:
            others = [cell[match.end() :], *cells[:at], *cells[at + 1 :]]
            words = " ".join(without_json(other) for other in others).strip(" `:-–—")
            return StatedStatus(int(match["status"]), words, line)
    return None


def _split_clauses(words: str) -> Iterator[str]:
    """Yield the parts of a sentence that each have a status, with the words up to the next one."""
    begun, *pieces = _SEPARATOR.split(words)
    for separator, piece in zip(pieces[::2], pieces[1::2], strict=True):
        if _ANY.search(begun) and _ANY.search(piece):
            yield begun
            begun = piece
        else:
            begun += separator + piece
    yield begun


def _in_clause(words: str, line: int) -> Iterator[StatedStatus]:
    for match in _ANY.finditer(words):
        rest = f"{words[: match.start()]} {words[match.end() :]}"
        yield StatedStatus(int(match["status"]), " ".join(rest.split()).strip(" `:-–—."), line)
