"""Recognise a column whose header is unknown by its cells: types, or the names of parameters.

A column is recognised if nearly all of its cells are of one kind and no other column is. Numbers and words alone do not
tell defaults from examples, so a column of values is left to a person.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.statement import UNSTATED
from openapi.reading.grammar.type_cells import is_type_cell
from openapi.reading.grammar.vocabulary import normalize, parse_literal
from openapi.reading.pages.row import DASHES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openapi.reading.pages.column_headers import Column
    from openapi.reading.pages.row import Cell

    Grid = Sequence[Sequence[Cell | None]]

FEWEST: Final = 2
"""How many cells must not be empty: one alone does not show a kind."""
SHARE: Final = 0.8
"""Of the cells that are not empty, how many must be of the kind."""
FLAGS: Final = frozenset({"yes", "no", "y", "n", "✓", "✗", "是", "否"})
"""Cells that answer a question, which only the header asks."""
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:[_.-][a-z0-9_]+|\[\]|[A-Z]\w*)*(?:\s*\(?(?:required|optional)\)?|\*)?")
EXAMPLES: Final = re.compile(r"\b(?:examples?|samples?|e\.g|such as)\b|示例|例子", re.IGNORECASE)


def recognize_types(columns: Sequence[Column], body: Grid) -> int | None:
    """Return the unknown column whose cells are types; None without one, with several, or if a column has types."""
    if "type" in columns:
        return None
    found = [at for at in _unknown(columns) if _share(_texts(body, at), is_type_cell) >= SHARE]
    return found[0] if len(found) == 1 else None


def recognize_names(columns: Sequence[Column], body: Grid) -> int | None:
    """Return the first column if its cells are names, all different, and another column has types."""
    if "name" in columns or "type" not in columns or columns[:1] != ["other"]:
        return None
    texts = _texts(body, 0)
    is_named = len(set(texts)) == len(texts) and _share(texts, lambda text: bool(_NAME.fullmatch(text))) >= SHARE
    return 0 if is_named else None


def list_values(headers: Sequence[str], columns: Sequence[Column], body: Grid) -> list[int]:
    """Return the unknown columns whose cells are values, of which the header does not say what they are."""
    return [
        at
        for at in _unknown(columns)
        if not EXAMPLES.search(headers[at]) and _share(_texts(body, at), _is_value) >= SHARE
    ]


def list_flags(columns: Sequence[Column], body: Grid) -> list[int]:
    """Return the unknown columns whose cells are yes and no."""
    return [at for at in _unknown(columns) if _share(_texts(body, at), lambda text: text.lower() in FLAGS) >= SHARE]


def _unknown(columns: Sequence[Column]) -> list[int]:
    return [at for at, column in enumerate(columns) if column == "other"]


def _texts(body: Grid, at: int) -> list[str]:
    """Return the texts of a column without its empty cells; a cell that spans several rows counts once."""
    cells = dict.fromkeys(row[at] for row in body if at < len(row) and row[at] is not None and len(set(row)) > 1)
    texts = (" ".join(normalize(cell.text).split()) for cell in cells if cell is not None)
    return [text for text in texts if text and text not in DASHES]


def _share(texts: Sequence[str], is_kind: Callable[[str], bool]) -> float:
    return sum(map(is_kind, texts)) / len(texts) if len(texts) >= FEWEST else 0.0


def _is_value(text: str) -> bool:
    return parse_literal(text.lower()) is not UNSTATED
