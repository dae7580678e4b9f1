"""Find the places of keywords that a source states about a field, an element or an alternative of a parameter.

A field may have several schemas: one in each alternative, such as the roles of a message. A place leads to a named
schema directly if only this field uses it, and otherwise from the parameter through the reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openapi.schema.json_schema import REFERENCE
from openapi.schema.partial_schema import ALTERNATIVES, is_container, is_note

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from openapi.schema.json_schema import Schema, Schemas

STEPS: Final = {"items": "[]", "additionalProperties": ".*"}
"""How the path of a field leads to an element of a list, and to a field with any name."""


class StatedPlaces:
    """The schemas of all fields of the parameters, by paths such as `messages[].role`."""

    def __init__(self, parameters: Mapping[str, Schema], schemas: Schemas, removed: Collection[str] = ()) -> None:
        """removed: places of the schemas that the dialect does not have."""
        self._schemas = schemas
        self._removed = frozenset(removed)
        self._nodes: dict[str, dict[str, Schema]] = {}  # path of the field -> place -> schema
        self._uses: dict[str, set[str]] = {}  # named schema -> paths of the fields that use it
        for name, schema in parameters.items():
            self._count(schema, name, frozenset())
        for name, schema in parameters.items():
            self._enter(schema, name, f"parameters/{name}/schema", frozenset())

    def find(self, path: str, keywords: Collection[str]) -> list[str]:
        """Return the places of some keywords in the schemas of a field."""
        return [
            f"{place}/{key}"
            for place, node in self._nodes.get(path, {}).items()
            for key in node
            if key in keywords and f"{place}/{key}" not in self._removed
        ]

    def find_type(self, path: str) -> Schema:
        """Return the type of a field, as a schema; empty if it has none."""
        return next(({"type": node["type"]} for node in self._nodes.get(path, {}).values() if "type" in node), {})

    def find_required(self, path: str) -> list[str]:
        """Return the places that make a field required, in all objects that contain it."""
        parent, _, name = path.rpartition(".")
        nodes = self._nodes.get(parent, {}).items()
        return [f"{place}/required/{name}" for place, node in nodes if name in node.get("required", ())]

    def list_limits(self, place: str) -> set[str]:
        """Return the places of all keywords at and below a place that limit a value, named schemas left out."""
        limits = {
            f"{at}/{key}"
            for nodes in self._nodes.values()
            for at, node in nodes.items()
            for key in node
            if not is_note(key) and not is_container(key, node[key]) and key not in ("$ref", "required")
        }
        limits |= {
            f"{at}/required/{name}"
            for nodes in self._nodes.values()
            for at, node in nodes.items()
            for name in node.get("required", ())
        }
        return {limit for limit in limits if limit.startswith(f"{place}/")}

    def find_user(self, name: str) -> str | None:
        """Return a parameter that uses a named schema."""
        return min((path.partition("[")[0].partition(".")[0] for path in self._uses.get(name, ())), default=None)

    def _count(self, schema: Any, path: str, within: frozenset[str]) -> None:
        for inner, at, _ in self._inside(schema, path, ""):
            self._count(inner, at, within)
        name = _target(schema)
        if name is not None and name not in within:
            self._uses.setdefault(name, set()).add(path)
            self._count(self._schemas.get(name, {}), path, within | {name})

    def _enter(self, schema: Any, path: str, place: str, within: frozenset[str]) -> None:
        if not isinstance(schema, dict):
            return
        name = _target(schema)
        if name is not None and name not in within:
            direct = f"schemas/{name}" if len(self._uses[name]) == 1 else place
            self._enter(self._schemas.get(name, {}), path, direct, within | {name})
        self._nodes.setdefault(path, {}).setdefault(place, {}).update(schema)
        for inner, at, where in self._inside(schema, path, place):
            self._enter(inner, at, where, within)

    def _inside(self, schema: Any, path: str, place: str) -> Iterator[tuple[Any, str, str]]:
        """Yield the schemas inside a schema, each with the path of its field and its place."""
        if not isinstance(schema, dict):
            return
        for keyword in ALTERNATIVES:
            for at, branch in enumerate(schema.get(keyword, ())):
                yield branch, path, f"{place}/{keyword}/{at}"
        for name, field in schema.get("properties", {}).items():
            yield field, f"{path}.{name}", f"{place}/properties/{name}"
        for keyword, step in STEPS.items():
            if isinstance(schema.get(keyword), dict):
                yield schema[keyword], f"{path}{step}", f"{place}/{keyword}"


def _target(schema: Any) -> str | None:
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    return reference.removeprefix(REFERENCE) if isinstance(reference, str) else None
