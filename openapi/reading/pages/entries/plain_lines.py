"""Split the paragraphs of a page at the lines that begin with a parameter: `top_p - number between 0 and 1`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from openapi.reading.pages.entries.described_name import parse_entry, parse_plain_entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi.reading.pages.entries.described_name import DescribedName

MIN_LINES: Final = 2


@dataclass(frozen=True, slots=True)
class PlainEntry:
    """An entry of a paragraph: its line, counted from that of the paragraph, its indentation, and its words."""

    offset: int
    indent: int
    described: DescribedName


def split_lines(lines: Sequence[str], *, is_listed: bool = False) -> tuple[str, list[PlainEntry]]:
    """Return the words in front of the first entry of a paragraph, and its entries; other lines continue an entry.

    is_listed: whether the paragraph is an entry of a list, which describes one parameter if it begins with one.
    """
    starts = [at for at, line in enumerate(lines) if _is_entry(line.strip(), is_first=at == 0)]
    if not starts or (is_listed and starts[0] == 0):
        starts = starts[:1] or [0]
    entries = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        words = "\n".join(line.strip() for line in lines[start:end])
        described = parse_entry(words) or parse_plain_entry(words)
        if described is not None:
            entries.append(PlainEntry(start, len(lines[start]) - len(lines[start].lstrip()), described))
    return " ".join(line.strip() for line in lines[: starts[0]]), entries


def split_code(text: str) -> Iterator[PlainEntry]:
    """Yield the entries of a block of plain text, which has at least two, with the line of the block of each."""
    lines = text.split("\n")
    paragraphs: list[tuple[int, list[str]]] = []
    for at, line in enumerate(lines):
        if not line.strip():
            paragraphs.append((at + 1, []))
        elif paragraphs:
            paragraphs[-1][1].append(line)
        else:
            paragraphs.append((at, [line]))
    found = [
        PlainEntry(at + entry.offset, entry.indent, entry.described)
        for at, paragraph in paragraphs
        if paragraph
        for entry in split_lines(paragraph)[1]
    ]
    if len(found) >= MIN_LINES:
        yield from found


def _is_entry(line: str, *, is_first: bool) -> bool:
    """Return whether a line begins with a parameter; a later one must also state its type or the like."""
    described = parse_entry(line)
    return (described is not None and (is_first or described.is_typed)) or parse_plain_entry(line) is not None
