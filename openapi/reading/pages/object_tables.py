"""Place tables that describe an object: those below a heading `Message object` have the fields of `messages[]`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from openapi.reading.pages.columns import find_named_part, names_parameters
from openapi.reading.pages.headings import PARAGRAPH, enclosing_headings
from openapi.reading.pages.row import TableRow, UnreadPassage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi.reading.pages.headings import Heading, Position

Result = tuple["Position", TableRow | UnreadPassage]
NOWHERE: Final = "the table describes an object, and no parameter of the page has its name"
_OBJECT: Final = re.compile(
    r"(?:the )?(?P<name>[a-z_][\w ]*?)(?:\[\])? "
    r"(?:object|item|element|entry|structure|schema|fields|properties|format)s?",
    re.IGNORECASE,
)


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
