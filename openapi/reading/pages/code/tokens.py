"""Find the blocks of code of a page, and split them into tokens: names, strings, numbers, signs and comments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bs4.element import Tag

from openapi.reading.pages.headings import position_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bs4 import BeautifulSoup
    from markdown_it.token import Token

    from openapi.reading.pages.headings import Position

_TOKEN: Final = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/|(?<![\w\"'])\#[^\n]*)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)"
    r"|(?P<number>-?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?)"
    r"|(?P<name>[A-Za-z_$][\w$]*)"
    r"|(?P<sign>\.\.\.|=>|[^\s\w])",
    re.DOTALL,
)
_TAG: Final = re.compile(r"@(?P<tag>\w+)\s*(?P<words>[^@]*)")
_SAYING: Final = {
    "default": "Default: {}",
    "defaultvalue": "Default: {}",
    "minimum": "Minimum: {}",
    "min": "Minimum: {}",
    "maximum": "Maximum: {}",
    "max": "Maximum: {}",
    "minlength": "At least {} characters",
    "maxlength": "At most {} characters",
    "minitems": "At least {} items",
    "maxitems": "At most {} items",
    "deprecated": "Deprecated {}",
}
"""What the tags of a documentation comment say, in the words of other pages."""
_VALUES: Final = re.compile(r"\s*(?:(?:\"[^\"]*\"|'[^']*'|`[^`]*`)(?:\s*(?:,|\||/|or\b|and\b)\s*(?:or\s+)?|\s*$)){2,}")
_SILENT: Final = frozenset({"example", "see", "since"})


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A block of code: where it begins on the page, the number of its first line, and its text."""

    position: Position
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class CodeToken:
    """One token. kind: `name`, `string`, `number`, `sign` or `comment`. first: whether it is the first of its line."""

    kind: str
    text: str
    line: int
    first: bool

    @property
    def last_line(self) -> int:
        """The line on which it ends."""
        return self.line + self.text.count("\n")


def find_blocks(tokens: Sequence[Token], soup: BeautifulSoup) -> Iterator[CodeBlock]:
    """Yield the blocks of code of a page of Markdown or HTML."""
    for token in tokens:
        if token.type == "fence" and token.map:
            yield CodeBlock((token.map[0] + 1, 0), token.map[0] + 2, token.content)
    for tag in soup.find_all("pre"):
        if isinstance(tag, Tag):
            yield CodeBlock(position_of(tag), position_of(tag)[0], tag.get_text())


def split_tokens(text: str, line: int) -> list[CodeToken]:
    """Split code into tokens; `line`: the number of its first line."""
    found: list[CodeToken] = []
    for match in _TOKEN.finditer(text):
        above = text[: match.start()]
        is_first = not above.rpartition("\n")[2].strip()
        found.append(CodeToken(match.lastgroup or "", match[0], line + above.count("\n"), is_first))
    return found


def read_comment(text: str) -> list[str]:
    """Return the statements of a comment without its marks; its tags are in words: `@default 1`.

    A comment that consists of values in quotes lists them.
    """
    body = re.sub(r"^/\*+|\*+/$", "", text) if text.startswith("/*") else re.sub(r"^(?://+|#+)", "", text)
    lines = (re.sub(r"^\s*\*\s?", "", line).strip() for line in body.split("\n"))
    words = " ".join(filter(None, lines))
    plain, *_ = re.split(r"(?<!\S)@(?=\w)", words, maxsplit=1)
    said = [f"One of: {plain}" if _VALUES.fullmatch(plain) else plain.strip()] if plain.strip() else []
    for match in _TAG.finditer(words[len(plain) :]):
        saying = _SAYING.get(match["tag"].lower(), "{}")
        if match["tag"].lower() not in _SILENT and match["words"].strip() + saying != "{}":
            said.append(saying.format(match["words"].strip()).strip())
    return said
