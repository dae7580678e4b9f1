"""Read lists and paragraphs that describe one parameter each: "- `temperature` (number, optional): ..."."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.types import parse_types
from openapi.reading.pages.columns import NO_PART, detect_part
from openapi.reading.pages.headings import PARAGRAPH, enclosing_headings
from openapi.reading.pages.names import PATH, parse_name
from openapi.reading.pages.row import Cell, Item, TableRow, UnreadPassage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

    from openapi.reading.pages.headings import Heading, Position
    from openapi.reading.pages.row import Part

    Entry = tuple[int, int, re.Match[str]]  # the nesting of a list entry, its line, and its words

_BRACKETS: Final = r"\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\]|<[^>]+>|_[^_]+_|\*[^*]+\*"
_ENTRY: Final = re.compile(
    rf"(?P<mark>\*\*`|`|\*\*|__|)(?P<name>{PATH})(?:`\*\*|`|\*\*|__|)\s*:?\s*(?P<brackets>(?:{_BRACKETS})(?:\s*(?:{_BRACKETS}))*)?"
    r"\s*(?P<end>:|[-–—](?=\s)|$)\s*(?P<rest>.*)",
    re.DOTALL,
)
_REQUIRED: Final = re.compile(r"(?:required|mandatory|optional|必选|必填|可选|选填)", re.IGNORECASE)
MIN_ENTRIES: Final = 2


def read_name_lists(
    tokens: Sequence[Token], headings: Sequence[Heading]
) -> Iterator[tuple[Position, TableRow | UnreadPassage]]:
    """Yield a row for each entry of a list of parameters, with its position.

    Such a list has at least two entries that begin with a marked name or with a name and its type, below a heading or
    paragraph that names a part of the interface.
    """
    entries = list(_entries(tokens))
    for _, group in groupby(entries, key=lambda entry: tuple(enclosing_headings(_above(headings), (entry[1], 0)))):
        described = list(group)
        if len(described) < MIN_ENTRIES:
            continue
        part = detect_part((), enclosing_headings(_before(headings, described), (described[0][1], 0)), "")
        if part is not None:
            yield from _rows(part, described)
        elif any(_is_typed(match["brackets"]) for _, _, match in described):
            line = described[0][1]
            yield (line, 0), UnreadPassage(line, NO_PART, " ".join(match["name"] for _, _, match in described))


def _above(headings: Sequence[Heading]) -> list[Heading]:
    return [heading for heading in headings if heading.level < PARAGRAPH]


def _before(headings: Sequence[Heading], entries: Sequence[Entry]) -> list[Heading]:
    """Return the headings without the entries themselves, which are short paragraphs, too."""
    lines = {line for _, line, _ in entries}
    return [heading for heading in headings if heading.position[0] not in lines]


def _entries(tokens: Sequence[Token]) -> Iterator[Entry]:
    depth = 0
    for at, token in enumerate(tokens):
        if token.type in ("bullet_list_open", "ordered_list_open"):
            depth += 1
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            depth -= 1
        elif token.type == "inline" and token.map and tokens[at - 1].type == "paragraph_open":
            match = _ENTRY.fullmatch(token.content)
            if match and (match["mark"] or _is_typed(match["brackets"])) and (match["end"] or match["brackets"]):
                yield depth, token.map[0] + 1, match


def _is_typed(brackets: str | None) -> bool:
    words = _inside(brackets)
    return any(parse_types(word) or _REQUIRED.fullmatch(word) for word in words)


def _inside(brackets: str | None) -> list[str]:
    """Return the words in brackets, separated by commas outside inner brackets."""
    words: list[str] = []
    for group in re.findall(_BRACKETS, brackets or ""):
        words += [word.strip(" `*_") for word in re.split(r"[,;]\s*(?![^\[(<]*[\])>])", group[1:-1])]
    return [word for word in words if word]


def _rows(part: Part, entries: Sequence[Entry]) -> Iterator[tuple[Position, TableRow]]:
    path: tuple[str, ...] = ()
    depths: list[int] = []
    for depth, line, match in entries:
        written = parse_name(match["name"])
        if written is None:
            continue
        while depths and depths[-1] >= depth:
            depths.pop()
            path = path[:-1]
        own = written.path if len(written.path) == 1 else written.path[-1:]
        path = (*path, *own) if depths or len(written.path) == 1 else written.path
        depths.append(depth)
        words = _inside(match["brackets"])
        types = next((word for word in words if parse_types(word)), None)
        required = next((word for word in words if _REQUIRED.fullmatch(word)), None)
        others = [word for word in words if word not in (types, required)]
        items = [Item(text, 0, line) for text in (*others, " ".join(match["rest"].split())) if text]
        yield (
            (line, 0),
            TableRow(
                part=part,
                path=path,
                line=line,
                type=Cell((Item(types, 0, line),), line) if types else None,
                required=Cell((Item(required, 0, line),), line) if required else None,
                prose=Cell(tuple(items), line) if items else None,
            ),
        )
