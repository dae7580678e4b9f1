"""Find the title of a page: its heading, in HTML, Markdown, a manual page or plain text."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from openapi.reading.pages.headings import text_of
from openapi.reading.pages.table_grid import parse_markup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bs4 import BeautifulSoup
    from markdown_it.token import Token

MAX_TITLE: Final = 100
MAX_LINE: Final = 80
"""Characters of a first line that may be a title."""
_FRONT_MATTER: Final = re.compile(r"\s*---\n(?:(?!---)[^\n]*\n)*?title:\s*[\"']?(?P<words>[^\n\"']+)")
_MANUAL_NAME: Final = re.compile(r"^NAME\n\s*(?P<words>\S[^\n]*?)\s+(?:\\?-|–|—)\s", re.MULTILINE)
_TEXT_HEADING: Final = re.compile(
    r"(?:=+\s+)?(?P<words>\w[^\n|]*?)\s*[#¶]?(?:\n[ \t]*[^\w\s]{3,}[ \t]*)?(?=\n\s*(?:\n|[-*•]\s)|\s*\Z)"
)
"""A first line that stands alone or in front of a list, or that a line of signs underlines."""
_SENTENCE: Final = re.compile(r"[.:;,!?]$|^\w+:\s|://|[{}()<>`]")
_NAME: Final = re.compile(r"[a-z_]\w*|\w*参数\w*|\w+ name|parameters?|field", re.IGNORECASE)
"""A name, or the header of a column: they begin pages whose tables were made text."""


def find_title(text: str) -> str:
    """Return the title of a page on one line; empty if it has none."""
    text = re.sub(r"\r\n?", "\n", text)
    words = next(filter(None, _candidates(text)), "")
    return " ".join(re.sub(r"<[^>]+>|[`*]", "", words).strip(" #¶").split())[:MAX_TITLE]


def _candidates(text: str) -> Iterator[str]:
    if match := _FRONT_MATTER.match(text):
        yield match["words"]
    tokens, soup = parse_markup(text)
    yield _find_markup_title(tokens, soup)
    if match := _MANUAL_NAME.search(text):
        yield match["words"]
    match = _TEXT_HEADING.match(text.lstrip())
    if match and len(words := match["words"]) <= MAX_LINE and not (_SENTENCE.search(words) or _NAME.fullmatch(words)):
        yield words


def _find_markup_title(tokens: list[Token], soup: BeautifulSoup) -> str:
    """Return the first heading of level 1 or 2, or the title of a page of HTML, whichever comes first."""
    tags = [tag for tag in soup.find_all(["title", "h1"]) if tag.get_text(strip=True)]
    found = [((tag.sourceline or 0), tag.get_text(" ", strip=True)) for tag in tags]
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open" and opening.tag in ("h1", "h2") and opening.map and text_of(inline):
            found.append((opening.map[0] + 1, text_of(inline)))
    return min(found, key=lambda pair: pair[0])[1] if found else ""
