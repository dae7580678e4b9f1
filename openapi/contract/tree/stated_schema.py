"""Which keywords of a parameter's schema a dialect states: each one at each path, also below named schemas.

A place states what is at it and below it. The place of a sentence states what named schemas contain, too. A delta
states only what it writes itself, except schemas whose `x-source` cites another document; of a list of required fields
it states those that it adds. The same keyword has several
places: `schemas/Tool/required`, and `parameters/tools/schema/items/required`, which leads through the reference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from openapi.schema.json_schema import REFERENCE
from openapi.schema.partial_schema import ALTERNATIVES, FIELDS, INNER, PartialSchema, is_note

if TYPE_CHECKING:
    from collections.abc import Collection

    from openapi.contract.tree.delta import Tree
    from openapi.schema.json_schema import Schema

REPEATED: Final = "x-repeats"
"""Stands for a named schema inside itself."""
Pair = tuple[Any, Any]
"""A whole, and the stated part of it."""


@dataclass(frozen=True, slots=True)
class _Node:
    """Where a schema is: its places, whether a sentence or a delta states all of it, and named schemas around it."""

    places: tuple[str, ...]
    by_home: bool = False
    by_delta: bool = False
    within: frozenset[str] = frozenset()


class StatedSchemas:
    """The schemas of the parameters of a tree, each with the part that the dialect itself states."""

    def __init__(self, tree: Tree, inherited: Tree, homes: Collection[str], deltas: Collection[str]) -> None:
        """inherited: the tree of the parent. homes, deltas: places that sentences and deltas of the dialect state."""
        self._tree = tree
        self._inherited = inherited
        self._homes = frozenset(homes)
        self._deltas = frozenset(deltas)
        self._places = self._homes | self._deltas

    def split(self, name: str) -> PartialSchema:
        """Return the schema of a parameter and its stated part."""
        above = {f"parameters/{name}"}
        node = _Node((f"parameters/{name}/schema",), bool(above & self._homes), bool(above & self._deltas))
        return PartialSchema(*self._read(self._tree["parameters"][name].get("schema", {}), node))

    def _read(self, schema: Any, node: _Node) -> Pair:
        if not isinstance(schema, dict):  # true or false; anything else is reported when the tree is checked
            return schema, schema
        node = self._enter(node, schema)
        if "$ref" in schema:
            return self._follow(schema, node)
        whole: Schema = {}
        part: Schema = {}
        for keyword, value in schema.items():
            inside = self._enter(_below(node, keyword))
            is_stated = inside.by_home or inside.by_delta
            if is_note(keyword):
                continue
            if keyword in FIELDS and isinstance(value, dict):
                fields = {name: self._read(item, _below(inside, name)) for name, item in value.items()}
                whole[keyword] = {name: one for name, (one, _) in fields.items()}
                part[keyword] = {name: other for name, (_, other) in fields.items()}
            elif keyword in INNER and isinstance(value, dict):
                whole[keyword], part[keyword] = self._read(value, inside)
            elif keyword in ALTERNATIVES and isinstance(value, list):
                branches = [self._read(item, _below(inside, str(at))) for at, item in enumerate(value)]
                _add_alternatives(whole, keyword, [one for one, _ in branches])
                _add_alternatives(part, keyword, [other for _, other in branches])
            elif keyword == "required" and isinstance(value, list):
                whole[keyword] = value
                part[keyword] = self._list_required(value, node, inside)
            else:
                whole[keyword] = value
                part.update({keyword: value} if is_stated else {})
        return whole, part

    def _follow(self, schema: Schema, node: _Node) -> Pair:
        """Read a named schema, overlaid with the keywords next to the reference."""
        name = schema["$ref"].removeprefix(REFERENCE)
        by_home = node.by_home or self._enter(_below(node, "$ref")).by_home
        if name in node.within:
            return {REPEATED: name}, {REPEATED: name}
        target = _Node((*node.places, f"schemas/{name}"), by_home, within=node.within | {name})
        whole, part = self._read(self._tree["schemas"].get(name, {}), target)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        others, stated = self._read(beside, node) if beside else ({}, {})
        return {**whole, **others}, {**part, **stated}

    def _enter(self, node: _Node, schema: Schema | None = None) -> _Node:
        """Return a node with what the places say about it, and the source of its schema."""
        source = str((schema or {}).get("x-source", "#"))
        is_foreign = source[:1] != "#" and not source.startswith(f"{self._tree['document']}#")
        return replace(
            node,
            by_home=node.by_home or not self._homes.isdisjoint(node.places),
            by_delta=(node.by_delta or not self._deltas.isdisjoint(node.places)) and not is_foreign,
        )

    def _list_required(self, names: list[str], node: _Node, inside: _Node) -> list[str]:
        """Return the required fields that are stated; a delta on their list states those that it adds."""
        stated: list[str] = names if inside.by_home or inside.by_delta else []
        if inside.by_delta and not (node.by_delta or inside.by_home):
            lists = [_find(self._inherited, f"{place}/required") for place in node.places]
            known: list[str] = next(filter(None, lists), [])
            stated = [name for name in names if name not in known]
        places = {f"{place}/required/{name}": name for place in node.places for name in names}
        named = {name for place, name in places.items() if place in self._places}
        return [name for name in names if name in stated or name in named]


def has_unstated(schema: PartialSchema) -> bool:
    """Return whether a document leaves out any keyword of a schema."""
    return schema.whole != schema.part


def list_unstated(schema: PartialSchema) -> list[str]:
    """Return the keywords at the top of a schema that a document does not state, or not with all that they contain."""
    return [key for key, value in schema.whole.items() if key not in schema.part or schema.part[key] != value]


def list_stated(schema: PartialSchema) -> list[str]:
    """Return the keywords at the top of a schema of which a document states something."""
    return [key for key, limit in schema.part.items() if _has_limits({key: limit})]


def _has_limits(schema: Any) -> bool:
    """Return whether a schema, or one inside it, limits a value."""
    if not isinstance(schema, dict):
        return schema is False
    for key, limit in schema.items():
        if key in FIELDS:
            inner = list(limit.values())
        elif key in ALTERNATIVES:
            inner = limit
        elif key in INNER and isinstance(limit, dict):
            inner = [limit]
        elif key == REPEATED or limit == []:
            continue
        else:
            return True
        if any(map(_has_limits, inner)):
            return True
    return False


def _find(tree: Any, place: str) -> Any:
    for step in place.split("/"):
        if isinstance(tree, list):
            tree = tree[int(step)] if step.isdecimal() and int(step) < len(tree) else None
        else:
            tree = tree.get(step) if isinstance(tree, dict) else None
    return tree


def _below(node: _Node, step: str) -> _Node:
    return replace(node, places=tuple(f"{place}/{step}" for place in node.places))


def _add_alternatives(schema: Schema, keyword: str, branches: list[Schema]) -> None:
    """Add alternatives of which any may apply; a second list of them becomes a further condition."""
    if keyword == "allOf":
        schema["allOf"] = [*branches, *schema.get("allOf", ())]
    elif "anyOf" in schema:
        schema["allOf"] = [*schema.get("allOf", ()), {"anyOf": branches}]
    else:
        schema["anyOf"] = branches
