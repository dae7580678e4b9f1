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
from openapi.reading.pages.columns import find_named_part, names_parameters
from openapi.reading.pages.headings import PARAGRAPH, enclosing_headings
from openapi.reading.pages.row import TableRow, UnreadPassage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openapi.reading.pages.headings import Heading, Position
    from openapi.reading.pages.row import Part

Result = tuple["Position", TableRow | UnreadPassage]
NOWHERE: Final = "the table describes an object, and no parameter of the page has its name"
_OBJECT: Final = re.compile(
    r"(?:the )?(?P<name>[a-z_][\w ]*?)(?:\[\])? "
    r"(?:object|item|element|entry|structure|schema|fields|properties|format)s?",
    re.IGNORECASE,
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


def place_objects(results: Sequence[Result], headings: Sequence[Heading]) -> Iterator[Result]:
    """Yield the rows of tables, those about an object below the parameter that contains it.

    A table is about an object if the innermost heading says so and names no part of the interface. The parameter has
    the name of the object, or its plural if it is a list. Without one, the table is an unread passage.
    """
    titles = [heading for heading in headings if heading.level < PARAGRAPH]
    described = {position: _described_object(titles, position) for position, _ in results}
    names = {
        row.path[0]
        for position, row in results
        if isinstance(row, TableRow) and row.part == "request" and described[position] is None
    }
    told: set[Position] = set()
    for position, row in results:
        name = described[position]
        if name is None or not isinstance(row, TableRow) or row.part != "request":
            yield position, row
        elif (parent := _find_parent(name, names)) is not None:
            yield position, replace(row, path=(parent, *row.path))
        elif position not in told:
            told.add(position)
            yield position, UnreadPassage(position[0], NOWHERE, name)


def _described_object(titles: Sequence[Heading], position: Position) -> str | None:
    """Return the name of the object that a table describes, in the form of a parameter; None if it is another table."""
    innermost = next(iter(enclosing_headings(titles, position)), "")
    match = _OBJECT.fullmatch(innermost.strip(" :`"))
    if match is None or find_named_part([innermost]) is not None or names_parameters(innermost):
        return None
    return "_".join(match["name"].lower().split())


def _find_parent(name: str, names: set[str]) -> str | None:
    """Return the step to the fields of an object; that to the elements of a list ends with `[]`."""
    if name in names:
        return f"{name}[]" if name.endswith("s") else name
    return f"{name}s[]" if f"{name}s" in names else None
