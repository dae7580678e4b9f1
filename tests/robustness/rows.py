"""The rows of the fault table, and the registry of the functions that attack."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable

FILE: Final = Path(__file__).with_name("rows.yaml")


@dataclass(frozen=True)
class Row:
    """One row: what is sent, what must hold, the parameters of the test, and the limits that the product configures."""

    number: int
    part: str
    sent: str
    holds: str
    values: dict[str, int] = field(default_factory=dict)
    configured: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.number:02}-{self.part}"


ROWS: Final = tuple(
    Row(**{"number" if name == "row" else name: value for name, value in row.items()})
    for row in yaml.safe_load(FILE.read_text(encoding="utf-8"))
)


class Attacks(dict[int, Any]):
    """The function for each row of some parts of the table."""

    def __init__(self, *parts: str) -> None:
        super().__init__()
        self.rows = tuple(row for row in ROWS if row.part in parts)

    def row(self, number: int) -> Callable[[Any], Any]:
        """Return a decorator that registers the function of a row."""

        def register(function: Any) -> Any:
            assert number not in self
            self[number] = function
            return function

        return register
