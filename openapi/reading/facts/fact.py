"""Facts: what a page, or the contract, says of one parameter or field."""

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
    """What is said of the parameter at `path`; a member that nothing is said of is empty, None or UNSTATED.

    `path` is `messages[].content[].type`: `[]` for the elements of a list. `types` are those of JSON, in the order of
    the alphabet, without null. `required` is "yes", "no", or a condition. `items` counts elements, `length`
    characters of a text, `characters` those of everything inside. `beyond` says what becomes of elements outside
    `format`, `empty` what an empty list stands for. `unread` holds what is left to a person.
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


RANGES: Final = ("range", "length", "items", "characters", "media_bytes", "media_count")
MEMBERS: Final = (
    *("supported", "types", "format", "range", "enum", "default", "nullable", "required"),
    *("length", "items", "characters", "media_bytes", "media_count", "formats", "beyond", "empty"),
)


def is_stated(member: str, value: Any) -> bool:
    """Whether a member says anything; a default of None is a null that is said."""
    return value is not UNSTATED and value != () and (value is not None or member == "default")
