"""Read definition lists of HTML: a term begins with the name of a parameter, its definition describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bs4.element import Tag

from openapi.reading.pages.cell_items import cell_items
from openapi.reading.pages.columns import NO_PART, detect_part
from openapi.reading.pages.entries.signature import make_row, says_type, split_words
from openapi.reading.pages.headings import enclosing_headings, position_of
from openapi.reading.pages.names import parse_name
from openapi.reading.pages.row import UnreadPassage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bs4 import BeautifulSoup

    from openapi.reading.pages.headings import Heading, Position
    from openapi.reading.pages.row import Item, TableRow

    Result = tuple[Position, TableRow | UnreadPassage]

MIN_TERMS: Final = 2


def read_definition_lists(soup: BeautifulSoup, headings: Sequence[Heading]) -> Iterator[Result]:
    """Yield a row for each term of a list of parameters, with its position. Lists inside definitions are their fields.

    Such a list has at least two terms that are marked as names or followed by a type, and words for its part of the
    interface in the headings above.
    """
    for terms in soup.find_all("dl"):
        if not isinstance(terms, Tag) or terms.find_parent("dl") is not None:
            continue
        described = list(_definitions(terms, ()))
        if sum(_is_marked(rest, term) for _, rest, (term, _) in described) < MIN_TERMS:
            continue
        position = position_of(terms)
        part = detect_part((), enclosing_headings(headings, position), "")
        if part is None:
            names = " ".join(".".join(path) for path, _, _ in described)
            yield position, UnreadPassage(position[0], NO_PART, names)
            continue
        for path, rest, (term, definition) in described:
            line = position_of(term)[0]
            yield position_of(term), make_row(part, path, line, split_words(rest), _own_items(definition))


def _definitions(terms: Tag, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str, tuple[Tag, Tag]]]:
    """Yield the path, the words next to the name, and the term and definition of each parameter of a list."""
    for term in terms.find_all("dt"):
        definition = term.find_next_sibling()
        if term.find_parent("dl") is not terms or not isinstance(definition, Tag) or definition.name != "dd":
            continue
        written = parse_name(term.get_text(" ", strip=True))
        if written is None:
            continue
        path = (*above, *written.path)
        yield path, written.rest, (term, definition)
        for inner in definition.find_all("dl"):
            if isinstance(inner, Tag) and inner.find_parent("dl") is terms:
                yield from _definitions(inner, path)


def _is_marked(rest: str, term: Tag) -> bool:
    """Return whether a term is the name of a parameter rather than a word: it is code, or its type follows."""
    return term.find(["code", "kbd", "tt"]) is not None or any(map(says_type, split_words(rest)))


def _own_items(definition: Tag) -> list[Item]:
    """Return the paragraphs and entries of a definition, without those of the lists of fields in it."""
    inner = {id(item) for fields in definition.find_all("dl") for item in fields.descendants}
    if not inner:
        return list(cell_items(definition))
    kept = [child for child in definition.children if id(child) not in inner and getattr(child, "name", "") != "dl"]
    return [item for child in kept if isinstance(child, Tag) for item in cell_items(child)]
