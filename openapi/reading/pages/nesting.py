"""Find the parent of each row on pages that show where a nested level opens, but not where it closes.

A row belongs to the innermost open level for which the interface has its name and which does not contain it yet. A name
that the interface does not have can be placed only if no level is open; otherwise a person has to place it.

A table of its own may describe an object: those below a heading `Message object` have the fields of `messages[]`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from openapi.contract.resolution import read
from openapi.reading.grammar.vocabulary import normalize
from openapi.reading.pages.columns import find_named_part, names_parameters
from openapi.reading.pages.headings import EMPHASIZED, PARAGRAPH, enclosing_headings
from openapi.reading.pages.row import TableRow, UnreadPassage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from openapi.reading.pages.headings import Heading, Position
    from openapi.reading.pages.row import Part

Result = tuple["Position", TableRow | UnreadPassage]
FEWEST_NAMES: Final = 2
OWN: Final = ("possible", "available", "supported", "object", "its", "the")
"""Words in front of `properties` that name no object: they are those of the parameter itself."""
NOWHERE: Final = "the table describes an object, and no parameter of the page has its name"
_OBJECT: Final = re.compile(
    r"(?:the )?(?P<name>[a-z_][\w ]*?)(?:\[\])? "
    r"(?:(?:object|item|element|entry) )?(?:object|item|element|entry|structure|schema|fields|properties|format)s?",
    re.IGNORECASE,
)
_OBJECT_ZH: Final = re.compile(r"(?P<name>[a-z_][\w ]*?)\s*(?:对象|元素)?的?(?:属性|字段|结构)", re.IGNORECASE)
_OWN_FIELDS: Final = re.compile(
    r"(?:possible |available )?(?:fields|properties|keys)|(?:可能的|对象的?)?(?:属性|字段)", re.IGNORECASE
)
Path = tuple[str, ...]
NamedRow = tuple[str, bool, int]  # the name of a row, whether it opens a level, its line


@cache
def load_outline(part: Part) -> frozenset[Path]:
    """Load the paths of one part of the interface from `outline.yaml`."""

    def paths(tree: dict[str, object] | None, parent: Path) -> Iterable[Path]:
        for name, inner in (tree or {}).items():
            yield (*parent, name)
            yield from paths(inner, (*parent, name))  # type: ignore[arg-type]

    return frozenset(paths(read("reading/outline.yaml")[part], ()))


def name_request(names: Iterable[str]) -> bool:
    """Return whether at least two of some names are parameters of a request, and no fields of a response."""
    own = load_outline("request") - load_outline("response")
    return len({name for name in names if (name,) in own}) >= FEWEST_NAMES


def place_rows(names: Iterable[NamedRow], part: Part) -> list[Path | UnreadPassage]:
    """Return the path of each row in turn, or the reason why it cannot be placed."""
    known = load_outline(part)
    open_levels: list[Path] = [()]
    placed: list[Path | UnreadPassage] = []
    seen: set[Path] = set()
    last: Path | None = ()
    for name, opens, line in names:
        if opens and last is None:
            placed.append(UnreadPassage(line, "the row above it could not be placed", name))
            continue
        if opens and last is not None:
            open_levels = [level for level in open_levels if last[: len(level)] == level and level != last]
            open_levels.append(last)
            path = (*last, name)
        else:
            candidates = [(*level, name) for level in open_levels if (*level, name) in known - seen]
            if len(open_levels) == 1:
                candidates = [(*open_levels[0], name)]
            if not candidates:
                words = " or ".join(".".join((*level, name)) for level in open_levels)
                placed.append(UnreadPassage(line, "the page does not show the level of this row", words))
                last = None
                continue
            path = candidates[-1]
            open_levels = [level for level in open_levels if path[: len(level)] == level and level != path]
        if path in seen:
            placed.append(UnreadPassage(line, "there is already a row with this name", ".".join(path)))
            last = None
            continue
        seen.add(path)
        placed.append(path)
        last = path
    return placed


def place_objects(
    results: Sequence[Result],
    headings: Sequence[Heading],
    find_section: Callable[[Position], Path | None] = lambda _position: None,
) -> Iterator[Result]:
    """Yield the rows of tables, those about an object below the parameter that contains it.

    A table is about an object if the innermost heading says so and names no part of the interface. The parameter has
    the name of the object, or its plural if it is a list. Without one, the table is an unread passage. A table below
    the heading of a parameter is about it, or about one of its fields that a further heading names.

    find_section: returns the path of the parameter whose heading a position is below.
    """
    titles = [heading for heading in headings if heading.level < PARAGRAPH]
    above = {position: _find_owner(titles, position, find_section(position)) for position, _ in results}
    names: set[Path] = set()
    for position, row in results:
        owner, name = above[position]
        if isinstance(row, TableRow) and row.part == "request" and name is None:
            names.add((*owner, row.path[0]))
    told: set[Position] = set()
    parent_above: Path = ()
    for position, row in results:
        owner, name = above[position]
        if not isinstance(row, TableRow) or row.part != "request":
            yield position, row
        elif not owner and name is None:
            path = _place_below(parent_above, row.path)
            parent_above = path[:1]
            yield position, replace(row, path=path)
        elif name is None:
            yield position, replace(row, path=(*owner, *row.path))
        elif (parent := _find_parent(name, owner, names)) is not None:
            yield position, replace(row, path=(*owner, parent, *row.path))
        elif position not in told:
            told.add(position)
            yield position, UnreadPassage(position[0], NOWHERE, name)


def _place_below(parent: Path, path: Path) -> Path:
    """Return the path of a row that only its parent, which is above it, can have: `role` directly below `messages`."""
    known = load_outline("request")
    is_field = len(path) == 1 and path not in known and (*parent, *path) in known
    return (*parent, *path) if parent and is_field else path


def _find_owner(titles: Sequence[Heading], position: Position, section: Path | None) -> tuple[Path, str | None]:
    """Return the parameter whose heading a table is below, and the name of the object that the table describes.

    The name is None for a table of the parameters themselves, or of the fields of the parameter.
    """
    innermost = next(iter(enclosing_headings(titles, position)), "")
    words = re.sub(r"\s*\([^()]*\)", "", normalize(innermost)).strip(" :`")
    match = _OBJECT.fullmatch(words) or _OBJECT_ZH.fullmatch(words)
    name = "_".join(match["name"].lower().split()) if match else None
    if section is None:
        is_part = find_named_part([innermost]) is not None or names_parameters(innermost)
        return (), None if is_part else name
    is_own = name in (*OWN, "", section[-1]) or _OWN_FIELDS.fullmatch(words)
    last = max((title for title in titles if title.position < position), key=lambda title: title.position)
    if is_own or last.level < EMPHASIZED:
        return section, None
    return section, name or words


def _find_parent(name: str, owner: Path, names: set[Path]) -> str | None:
    """Return the step to the fields of an object; that to the elements of a list ends with `[]`."""
    if (*owner, name) in names:
        return f"{name}[]" if name.endswith("s") and not owner else name
    return f"{name}s[]" if (*owner, f"{name}s") in names else None
