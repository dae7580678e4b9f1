"""Find the parent of each row on pages that show where a nested level opens, but not where it closes.

A row belongs to the innermost open level for which the interface has its name and which does not contain it yet. A name
that the interface does not have can be placed only if no level is open; otherwise a person has to place it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from openapi.contract.resolution import read
from openapi.reading.pages.row import UnreadPassage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi.reading.pages.row import Part

Path = tuple[str, ...]
NamedRow = tuple[str, bool, int]  # the name of a row, whether it opens a level, its line

DASHES = frozenset("-–—－")  # a cell with only a dash opens a level


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
