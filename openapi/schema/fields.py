"""Members: what an object or list holds at every depth, each under its path, with the schemas that describe it.

`messages[].content[].text` is the text of a part of the content of a message, `stop[]` an element of `stop`. Branches
of `oneOf` and `anyOf` are laid over each other: a member that several branches describe has several schemas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from openapi.schema.json_schema import dereference

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi.schema.json_schema import Schema, Schemas

DEEPEST: Final = 10
"""Steps from the root; schemas that hold themselves would go on for ever."""


@dataclass(frozen=True, slots=True)
class Member:
    """One member. `required`: by every branch that describes what holds it, by some, or by none."""

    path: str
    schemas: tuple[Schema, ...]
    required: Literal["yes", "some", "no"] = "no"

    @property
    def depth(self) -> int:
        """How many objects stand around it."""
        return self.path.count(".")

    @property
    def is_element(self) -> bool:
        """Whether it stands for each element of a list, or each member of any name."""
        return self.path.endswith(("[]", ".*"))

    @property
    def holder(self) -> str:
        """The path of what holds it; "" for the root."""
        return self.path[:-2] if self.is_element else self.path.rpartition(".")[0]


def members_of(schema: Schema, schemas: Schemas, path: str = "") -> tuple[Member, ...]:
    """All members below a schema, outermost first, each once. `path` goes before theirs."""
    return tuple(_below([schema], schemas, path, 0))


def branches(schema: Schema, schemas: Schemas) -> Iterator[Schema]:
    """The forms of a value without references: the schema itself, or what its branches say where it says nothing."""
    schema = dereference(schema, schemas)
    split = [key for key in ("anyOf", "oneOf", "allOf") if key in schema and "properties" not in schema]
    if not split:
        yield schema
    for key in split:
        for branch in schema[key]:
            yield from branches(branch, schemas)


def _below(alternatives: Sequence[Schema], schemas: Schemas, path: str, steps: int) -> Iterator[Member]:
    if steps >= DEEPEST:
        return
    forms = [form for schema in alternatives for form in branches(schema, schemas)]
    for keyword, mark in (("items", "[]"), ("additionalProperties", ".*")):
        inner = [form[keyword] for form in forms if isinstance(form.get(keyword), dict)]
        if inner:
            yield Member(f"{path}{mark}", tuple(inner))
            yield from _below(inner, schemas, f"{path}{mark}", steps + 1)
    objects = [form for form in forms if "properties" in form]
    for name in dict.fromkeys(name for form in objects for name in form["properties"]):
        found = [form["properties"][name] for form in objects if isinstance(form["properties"].get(name), dict)]
        at = f"{path}.{name}" if path else name
        demanding = sum(name in form.get("required", ()) for form in objects)
        required: Literal["yes", "some", "no"] = "no"
        if demanding:
            required = "yes" if demanding == len(objects) else "some"
        yield Member(at, tuple(found), required)
        yield from _below(found, schemas, at, steps + 1)
