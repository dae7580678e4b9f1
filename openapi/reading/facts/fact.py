"""Facts: what a page or the contract states about one parameter or field."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from openapi.reading.grammar.statement import UNSTATED

if TYPE_CHECKING:
    from openapi.reading.grammar.interval import Range
    from openapi.reading.grammar.statement import Statement
    from openapi.reading.pages.row import Part


@dataclass(frozen=True, slots=True)
class Fact:
    """The statements about the parameter or field at `path`. An unstated attribute is empty, None or UNSTATED.

    path: the names that lead to it, with `[]` for the elements of a list, such as `messages[].content[].type`.
    types: JSON types in alphabetical order, without null.
    required: "yes", "no", or a condition.
    length, items, characters: the number of characters of a string, of elements, and of characters in all elements.
    beyond: what a server does with elements outside `format`.
    empty: what an empty list is equivalent to.
    unread: text that no rule reads and that a person has to check.
    prose: text that no rule reads either, without a word that hints at a fact.
    """

    part: Part
    path: str
    line: int = field(default=0, compare=False)
    supported: bool = True
    types: tuple[str, ...] = ()
    format: str | None = None
    range: Range = ()
    enum: tuple[Any, ...] = ()
    default: Any = UNSTATED
    nullable: bool | None = None
    required: str | None = None
    length: Range = ()
    items: Range = ()
    characters: Range = ()
    media_bytes: Range = ()
    media_count: Range = ()
    formats: tuple[str, ...] = ()
    beyond: str | None = None
    empty: str | None = None
    unread: tuple[str, ...] = field(default=(), compare=False)
    read: tuple[Statement, ...] = field(default=(), compare=False)
    prose: tuple[str, ...] = field(default=(), compare=False)


RANGES: Final = ("range", "length", "items", "characters", "media_bytes", "media_count")
ATTRIBUTES: Final = (
    *("supported", "types", "format", "range", "enum", "default", "nullable", "required"),
    *("length", "items", "characters", "media_bytes", "media_count", "formats", "beyond", "empty"),
)


def is_stated(attribute: str, value: Any) -> bool:
    """Return whether an attribute has a stated value; a default of None is a stated null."""
    return value is not UNSTATED and value != () and (value is not None or attribute == "default")
