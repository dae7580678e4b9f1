"""Read the fields of documentation sites: <ParamField body="n" type="integer" default="1"> and <ResponseField>."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import TYPE_CHECKING, Final

from bs4 import BeautifulSoup
from bs4.element import NavigableString, Tag
from markdown_it import MarkdownIt

from openapi.reading.pages.cell_items import cell_items
from openapi.reading.pages.headings import position_of
from openapi.reading.pages.names import parse_name
from openapi.reading.pages.row import Cell, Item, TableRow, UnreadPassage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.reading.pages.headings import Position
    from openapi.reading.pages.row import Part

FIELDS: Final = ("paramfield", "responsefield")
_NAMES: Final = ("body", "name")
_ELSEWHERE: Final = ("query", "path", "header")  # parameters of the URL and headers, which are not in the body
_BRACES: Final = re.compile(r"\{\s*[\"'`]?(.*?)[\"'`]?\s*\}", re.DOTALL)


def read_param_fields(soup: BeautifulSoup) -> Iterator[tuple[Position, TableRow | UnreadPassage]]:
    """Yield a row for each field, with its position. Fields inside others are their fields."""
    for tag in soup.find_all(list(FIELDS)):
        line = position_of(tag)[0]
        outer = [tag, *(parent for parent in tag.parents if parent.name in FIELDS)]
        names = [_name(field) for field in reversed(outer)]
        if None in names:
            if not any(tag.has_attr(place) for place in _ELSEWHERE):
                yield position_of(tag), UnreadPassage(line, "the field has no name", " ".join(map(str, tag.attrs)))
            continue
        part: Part = "request" if outer[-1].name == "paramfield" else "response"
        yield position_of(tag), _row(tag, part, tuple(step for name in names for step in name or ()), line)


def _name(tag: Tag) -> tuple[str, ...] | None:
    stated = next((str(tag[key]) for key in _NAMES if tag.has_attr(key)), "")
    written = parse_name(stated)
    return None if written is None else written.path


def _row(tag: Tag, part: Part, path: tuple[str, ...], line: int) -> TableRow:
    items = list(_own_items(tag, line))
    default, kind = _attribute(tag, "default"), _attribute(tag, "type")
    if default is not None:
        items.append(Item(f"Default: {default}", 0, line))
    required = "required" if tag.has_attr("required") and _attribute(tag, "required") != "false" else None
    if required is None and part == "request":
        required = "optional"
    if tag.has_attr("deprecated"):
        items.append(Item("Deprecated", 0, line))
    return TableRow(
        part=part,
        path=path,
        line=line,
        type=Cell((Item(kind, 0, line),), line) if kind else None,
        required=Cell((Item(required, 0, line),), line) if required else None,
        prose=Cell(tuple(items), line) if items else None,
    )


def _attribute(tag: Tag, name: str) -> str | None:
    """Return the value of an attribute, also in braces as in `default={1}`."""
    if not tag.has_attr(name):
        return None
    value = str(tag[name])
    braces = _BRACES.fullmatch(value)
    return braces[1] if braces else value


def _own_items(tag: Tag, line: int) -> Iterator[Item]:
    """Yield the paragraphs and list entries of a field, without those of the fields inside it."""
    copy = BeautifulSoup(str(tag), "html.parser").find(tag.name)
    if not isinstance(copy, Tag):
        return
    for inner in copy.find_all([*FIELDS, "expandable"]):
        inner.decompose()
    text = "".join(str(child) for child in copy.children if isinstance(child, (NavigableString, Tag)))
    html = MarkdownIt("commonmark").render(dedent(text.strip("\n")))
    for item in cell_items(BeautifulSoup(html, "html.parser")):
        yield Item(item.text, item.depth, line)
