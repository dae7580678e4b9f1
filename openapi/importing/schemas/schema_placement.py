"""Write stated schemas into a dialect that extends another one.

A stated schema is aligned with the schema that the extended dialect has in its place: by field, by element, and by
alternative. Where the two accept the same values, the inherited one is kept. Where the inherited one has a name, the
name gets the stated schema. Capabilities and limits of our own server, which no vendor states, are carried over.
"""

from __future__ import annotations

from itertools import chain, count
from typing import TYPE_CHECKING, Any, Final

from openapi.importing.schemas.canonical_schema import canonical, same_values
from openapi.schema.json_schema import REFERENCE, dereference

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from openapi.reading.compare.delta_placement import DeltaTree
    from openapi.schema.json_schema import Schema, Schemas

CARRIED: Final = ("x-capability", "x-neutral", "x-server-limits")


class SchemaPlacement:
    """Places schemas with `stated` names into a tree whose dialect has `inherited` names.

    fixed: inherited names that must keep their schemas, because parts of which the source says nothing use them.
    """

    def __init__(self, tree: DeltaTree, stated: Schemas, inherited: Schemas, fixed: Collection[str]) -> None:
        self._tree = tree
        self._stated = stated
        self._inherited = inherited
        self._fixed = fixed
        self._placed: dict[str, Any] = {}  # name in the dialect -> the canonical form of its new schema

    def place(self, schema: Schema, like: Schema | None, at: str) -> Schema:
        """Return a stated schema as the dialect writes it; `like` is the inherited schema, `at` the anchor."""
        if like is not None and "$ref" in like:
            name = like["$ref"].removeprefix(REFERENCE)
            if same_values(schema, self._stated, like, self._inherited) and name not in self._placed:
                return {**_notes(schema), **like}
            if self._claim(name, schema):
                if self._tree.get(f"schemas/{name}") is not None and self._placed[name][1]:
                    self._placed[name] = (self._placed[name][0], False)
                    self._tree.set(f"schemas/{name}", self._inside(schema, self._inherited[name], at))
                return {**_notes(schema), "$ref": REFERENCE + name}
            like = dereference(like, self._inherited)
        if "$ref" in schema:
            name = self._free_name(schema["$ref"].removeprefix(REFERENCE), schema)
            if self._placed[name][1]:
                self._placed[name] = (self._placed[name][0], False)
                self._tree.set(f"schemas/{name}", self._inside(schema, like, at))
            return {**_notes(schema), "$ref": REFERENCE + name}
        return self._inside(schema, like, at)

    def _claim(self, name: str, schema: Schema) -> bool:
        """Return whether the name stands for this schema in the dialect, from now on if it is free."""
        if name in self._fixed:
            return False
        form = canonical(schema, self._stated)
        return bool(self._placed.setdefault(name, (form, True))[0] == form)

    def _free_name(self, name: str, schema: Schema) -> str:
        """Return a name for a schema that the extended dialect does not use: `Name`, else `Name2` and so on."""
        candidates = chain([name], (f"{name}{number}" for number in count(2)))
        return next(item for item in candidates if item not in self._inherited and self._claim(item, schema))

    def _inside(self, schema: Schema, like: Schema | None, at: str) -> Schema:
        schema = dereference(schema, self._stated)
        like = dereference(like, self._inherited) if like else {}
        placed: Schema = {key: like[key] for key in CARRIED if key in like}
        for key, value in sorted(schema.items(), key=lambda item: item[0] != "type"):
            if key == "properties":
                known = like.get("properties", {})
                placed[key] = {
                    name: self._field(field, known.get(name), f"{at}/{name}") for name, field in value.items()
                }
            elif key in ("items", "additionalProperties") and isinstance(value, dict):
                other = like.get(key)
                placed[key] = self.place(value, other if isinstance(other, dict) else None, at)
            elif key in ("anyOf", "oneOf"):
                placed[key] = [self.place(branch, other, at) for branch, other in self._pairs(value, like)]
            elif key == "discriminator":
                continue
            else:
                placed[key] = self._references(value, at)
        if "discriminator" in schema:
            placed.update(self._discriminator(schema, placed))
        return placed

    def _field(self, schema: Schema, like: Schema | None, at: str) -> Schema:
        """Place a field, with the description that the inherited field has, and its source."""
        description = {"description": like["description"]} if like and "description" in like else {}
        return {**description, **self.place(schema, like, at), "x-source": at}

    def _references(self, value: Any, at: str) -> Any:
        """Place the schemas below other keywords, which have no counterpart."""
        if isinstance(value, list):
            return [self._references(item, at) for item in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            return self.place(value, None, at)
        return {key: self._references(item, at) for key, item in value.items()}

    def _pairs(self, branches: list[Schema], like: Schema) -> Iterator[tuple[Schema, Schema | None]]:
        """Pair each alternative with the inherited one for the same values of a field, or of the same type."""
        others = list(like.get("anyOf") or like.get("oneOf") or ())
        if not others and like:
            others = [like]
        for branch in branches:
            whole = dereference(branch, self._stated)
            keys = _choices(whole)
            same = [other for other in others if keys & _choices(dereference(other, self._inherited))]
            if not keys:
                same = [o for o in others if _kinds(dereference(o, self._inherited)) == _kinds(whole) != frozenset()]
            yield branch, same[0] if len(same) == 1 else None

    def _discriminator(self, schema: Schema, placed: Schema) -> Schema:
        """Write the discriminator with the names of the dialect; leave it out if an alternative has no name."""
        keyword = "oneOf" if "oneOf" in placed else "anyOf"
        names = [branch.get("$ref") for branch in placed.get(keyword, ())]
        stated = [branch.get("$ref") for branch in schema.get(keyword, ())]
        if None in names or len(set(names)) < len(names):
            return {}
        renamed = dict(zip(stated, names, strict=True))
        discriminator = schema["discriminator"]
        mapping = {value: renamed.get(target) for value, target in discriminator["mapping"].items()}
        return {"discriminator": {**discriminator, "mapping": mapping}} if None not in mapping.values() else {}


def _notes(schema: Schema) -> Schema:
    return {"default": schema["default"]} if "default" in schema else {}


def _choices(schema: Schema) -> frozenset[tuple[str, str]]:
    """Return the fields of an object that have given values, such as `type: image_url`, with these values."""
    return frozenset(
        (name, str(value))
        for name, field in schema.get("properties", {}).items()
        for value in (field.get("enum") or ([field["const"]] if "const" in field else []))
    )


def _kinds(schema: Schema) -> frozenset[str]:
    kinds = schema.get("type")
    return frozenset(kinds if isinstance(kinds, list) else [kinds] if kinds else [])
