"""The outline of a schema: which fields it defines at each place of a value, whatever it combines or refers to.

Properties have `x-presence: usually` if every printed example has the field, or a table lists it without a condition.
A field that must be present is in `required` instead. `x-absent` of an object lists the fields that the document names
as not returned.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_DEPTH: Final = 12  # levels of references and combinations; the schemas of answers have fewer
COMBINATIONS: Final = ("allOf", "anyOf", "oneOf")


class SchemaOutline:
    """The fields that some schemas define together, of one place in a value.

    The places below are outlined when they are first asked for, and kept, so schemas may refer to themselves.
    """

    def __init__(self, named: Mapping[str, Any], schemas: list[Any]) -> None:
        """named: the schemas that others refer to by name."""
        self._named = named
        self._parts = [part for schema in schemas for part in _expand(named, schema)]

    @cached_property
    def fields(self) -> Mapping[str, SchemaOutline]:
        """The outline of each field that is defined."""
        defined: dict[str, list[Any]] = {}
        for part in self._parts:
            for name, schema in part.get("properties", {}).items():
                defined.setdefault(name, []).append(schema)
        return {name: SchemaOutline(self._named, schemas) for name, schemas in defined.items()}

    @cached_property
    def items(self) -> SchemaOutline | None:
        """The outline of the items of a list; None if no schema describes them."""
        schemas = [part["items"] for part in self._parts if isinstance(part.get("items"), dict)]
        return SchemaOutline(self._named, schemas) if schemas else None

    @cached_property
    def usual(self) -> tuple[str, ...]:
        """The names of the fields that are usually present."""
        properties = (item for part in self._parts for item in part.get("properties", {}).items())
        return tuple(dict.fromkeys(name for name, schema in properties if schema.get("x-presence") == "usually"))

    @cached_property
    def absent(self) -> tuple[str, ...]:
        """The names of the fields that are not returned."""
        return tuple(dict.fromkeys(name for part in self._parts for name in part.get("x-absent", ())))


def _expand(named: Mapping[str, Any], schema: object, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yield a schema and all schemas that it combines or refers to."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return
    if "$ref" in schema:
        yield from _expand(named, named.get(schema["$ref"].rpartition("/")[2]), depth + 1)
    yield schema
    for combination in COMBINATIONS:
        for part in schema.get(combination, ()):
            yield from _expand(named, part, depth + 1)
