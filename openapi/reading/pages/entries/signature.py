"""Read the words next to the name of a parameter, such as `string, required`, and make the row of an entry of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.type_cells import is_array_of_unknown, parse_type_cell
from openapi.reading.pages.row import Cell, Item, TableRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openapi.reading.pages.row import Part

_WORDS: Final = r"required|mandatory|optional|必选|必填|必须|必需|可选的?|选填"
REQUIRED: Final = re.compile(_WORDS, re.IGNORECASE)
_BETWEEN: Final = re.compile(r"\s*[,;·•]\s*|\s+[—–]\s+(?=[_*]?(?:required|optional))", re.IGNORECASE)
_PAIRS: Final = ("[]", "()", "<>")
_BARS: Final = re.compile(r"\s*\|\s*")
_OUTER: Final = re.compile(r"^[\s:–—-]+|[\s:]+$")
_DEFAULT: Final = re.compile(r"defaults?\b.*", re.IGNORECASE)
LABELLED: Final = re.compile(
    r"(?:(?P<type>(?:data )?type|(?:参数|数据)?类型)|(?:is )?required|presence|mandatory|(?:是否)?必[填选需须])\s*[:=]"
    r"\s*(?P<words>\S.*)",
    re.IGNORECASE,
)
"""A line about the type or the presence of a parameter, such as `Type: string`, with ASCII punctuation."""
_ONE_PIECE: Final = re.compile(
    rf"(?P<type>.+?)[\s(\[]+(?P<last>{_WORDS})[)\]]?|(?P<first>{_WORDS})\s+(?P<rest>.+)", re.IGNORECASE | re.DOTALL
)


def split_words(text: str) -> list[str]:
    """Return the words next to a name, such as `string` and `required`, without brackets and separators."""
    words, start, parts = _strip(text), 0, []
    for match in _BETWEEN.finditer(words):
        if all(
            words.count(opening, 0, match.start()) <= words.count(closing, 0, match.start())
            for opening, closing in _PAIRS
        ):
            parts.append(_strip(words[start : match.start()]))
            start = match.end()
    parts.append(_strip(words[start:]))
    return [word for part in parts for word in _split_part(part) if word]


def says_type(word: str) -> bool:
    """Return whether a word is a type, or says whether the parameter is required."""
    return REQUIRED.fullmatch(word) is not None or parse_type_cell(word) is not None


def states_presence(word: str) -> bool:
    """Return whether a word is a type, or says whether the parameter is required or what its default is."""
    return says_type(word) or _DEFAULT.fullmatch(word) is not None


def is_signature(words: Sequence[str]) -> bool:
    """Return whether words state the type, the presence and the default, and nothing else."""
    return any(map(says_type, words)) and all(map(states_presence, words))


def make_row(part: Part, path: tuple[str, ...], line: int, words: Sequence[str], prose: Iterable[Item]) -> TableRow:
    """Make the row of an entry: of its words the first type and the first `required`, and the others as prose."""
    types = next((word for kind in (parse_type_cell, is_array_of_unknown) for word in words if kind(word)), None)
    presence = next((word for word in words if REQUIRED.fullmatch(word)), None)
    items = (*(Item(word, 0, line) for word in words if word not in (types, presence)), *prose)
    return TableRow(
        part=part,
        path=path,
        line=line,
        type=Cell((Item(types, 0, line),), line) if types else None,
        required=Cell((Item(presence, 0, line),), line) if presence else None,
        prose=Cell(items, line) if items else None,
    )


def _split_part(part: str) -> Iterator[str]:
    """Yield the words of a part: it may separate them with bars, or have none between a type and `required`."""
    if says_type(part):
        yield part
    elif "|" in part:
        for word in _BARS.split(part):
            yield from _split_part(_strip(word))
    else:
        match = _ONE_PIECE.fullmatch(part)
        words = [] if match is None else [_strip(word) for word in match.groups() if word]
        yield from words if words and all(map(says_type, words)) else [part]


def _strip(text: str) -> str:
    """Return words without the separators and brackets around it, also a bracket whose other one was cut off."""
    text = _OUTER.sub("", text)
    for opening, closing in ("()", "[]"):
        if text.startswith(opening):
            text = text[1:].removesuffix(closing)
        elif text.endswith(closing) and text.count(closing) > text.count(opening):
            text = text[:-1]
    return _OUTER.sub("", text)
