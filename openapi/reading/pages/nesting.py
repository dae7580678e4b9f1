"""Nesting: to which parameter a row belongs where the page shows where a level opens, but not where it closes.

A row belongs to the innermost open level that the interface knows it in and that does not hold it yet. A name that the
interface does not know has a place only while no level is open; else it is left to a person, never guessed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from openapi.contract.resolution import read
from openapi.reading.pages.row import Left

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi.reading.pages.row import Part

Path = tuple[str, ...]
Named = tuple[str, bool, int]  # the name of a row, whether it opens a level, its line

DASHES = frozenset("-–—－")  # what opens a level


@cache
def outline(part: Part) -> frozenset[Path]:
    """The paths of one part of the interface, as `outline.yaml` nests them."""

    def paths(tree: dict[str, object] | None, over: Path) -> Iterable[Path]:
        for name, inner in (tree or {}).items():
            yield (*over, name)
            yield from paths(inner, (*over, name))  # type: ignore[arg-type]

    return frozenset(paths(read("reading/outline.yaml")[part], ()))


def place(names: Iterable[Named], part: Part) -> list[Path | Left]:
    """The path of each row in turn, or why it is left."""
    known = outline(part)
    open_levels: list[Path] = [()]
    placed: list[Path | Left] = []
    seen: set[Path] = set()
    last: Path | None = ()
    for name, opens, line in names:
        if opens and last is None:
            placed.append(Left(line, "it lies below a row that could not be placed", name))
            continue
        if opens and last is not None:
            open_levels = [level for level in open_levels if last[: len(level)] == level and level != last]
            open_levels.append(last)
            path = (*last, name)
        else:
            fitting = [(*level, name) for level in open_levels if (*level, name) in known - seen]
            if len(open_levels) == 1:
                fitting = [(*open_levels[0], name)]
            if not fitting:
                words = " or ".join(".".join((*level, name)) for level in open_levels)
                placed.append(Left(line, "the page does not show which level this row is in", words))
                last = None
                continue
            path = fitting[-1]
            open_levels = [level for level in open_levels if path[: len(level)] == level and level != path]
        if path in seen:
            placed.append(Left(line, "a row of this name is there already", ".".join(path)))
            last = None
            continue
        seen.add(path)
        placed.append(path)
        last = path
    return placed
