"""List the fields of an object or array at every depth, each with its path and the schemas that describe it.

`messages[].content[].text` is the text of one part of a message's content; `stop[]` is one element of `stop`. The
branches of `oneOf` and `anyOf` are combined: a field that several branches describe has several schemas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from openapi.schema.json_schema import dereference

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi.schema.json_schema import Schema, Schemas

MAX_DEPTH: Final = 10
"""Steps from the root; recursive schemas would never end."""


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One field. `required`: by all of the branches that describe its parent, by some of them, or by none."""

    path: str
    schemas: tuple[Schema, ...]
    required: Literal["yes", "some", "no"] = "no"

    @property
    def depth(self) -> int:
        """Number of objects that enclose the field."""
        return self.path.count(".")

    @property
    def is_element(self) -> bool:
        """Whether it stands for all elements of an array, or for all properties of an object."""
        return self.path.endswith(("[]", ".*"))

    @property
    def parent(self) -> str:
        """Path of the object or array that contains the field; "" for the root."""
        return self.path[:-2] if self.is_element else self.path.rpartition(".")[0]


def list_fields(schema: Schema, schemas: Schemas, path: str = "") -> tuple[SchemaField, ...]:
    """List all fields of a schema, outermost first, each once. `path` is the prefix of their paths."""
    return tuple(_fields_below([schema], schemas, path, 0))


def expand_branches(schema: Schema, schemas: Schemas) -> Iterator[Schema]:
    """Yield the alternatives of a value, references resolved: the schema itself, or the branches of its `anyOf`,
    `oneOf` and `allOf` unless it has properties of its own."""
    schema = dereference(schema, schemas)
    split = [key for key in ("anyOf", "oneOf", "allOf") if key in schema and "properties" not in schema]
    if not split:
        yield schema
    for key in split:
        for branch in schema[key]:
            yield from expand_branches(branch, schemas)


def _fields_below(alternatives: Sequence[Schema], schemas: Schemas, path: str, steps: int) -> Iterator[SchemaField]:
    if steps >= MAX_DEPTH:
        return
    branches = [branch for schema in alternatives for branch in expand_branches(schema, schemas)]
    for keyword, suffix in (("items", "[]"), ("additionalProperties", ".*")):
        inner = [branch[keyword] for branch in branches if isinstance(branch.get(keyword), dict)]
        if inner:
            yield SchemaField(f"{path}{suffix}", tuple(inner))
            yield from _fields_below(inner, schemas, f"{path}{suffix}", steps + 1)
    objects = [branch for branch in branches if "properties" in branch]
    for name in dict.fromkeys(name for branch in objects for name in branch["properties"]):
        inner = [branch["properties"][name] for branch in objects if isinstance(branch["properties"].get(name), dict)]
        field_path = f"{path}.{name}" if path else name
        requiring = sum(name in branch.get("required", ()) for branch in objects)
        required: Literal["yes", "some", "no"] = "no"
        if requiring:
            required = "yes" if requiring == len(objects) else "some"
        yield SchemaField(field_path, tuple(inner), required)
        yield from _fields_below(inner, schemas, field_path, steps + 1)
