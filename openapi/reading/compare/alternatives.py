"""Narrow the alternatives of a dialect's schemas to what a page states about a field that several of them have.

A message, for example, is one of several objects, each with its own value of `role`. A page that lists fewer roles
leaves out the objects with the others. A schema that other parts of the interface use, too, stays as it is for them:
the narrowed one is written in the place of the reference.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from openapi.reading.compare.contract_facts import list_types, list_values
from openapi.reading.compare.schema_keywords import update_schema
from openapi.reading.compare.schema_places import ROOTS, SchemaPlaces, join_step
from openapi.schema.json_schema import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.reading.compare.delta_placement import DeltaTree
    from openapi.reading.facts.fact import Fact
    from openapi.schema.json_schema import Schema, Schemas

_STEP: Final = re.compile(r"\[\]|[^.\[\]]+")
_TYPES: Final = {
    "range": {"integer", "number"},
    "length": {"string"},
    "items": {"array"},
    "characters": {"array"},
}
"""Attributes that can be set in every alternative of one of these types."""
NARROWED: Final = frozenset({"types", "enum", "required", *_TYPES})


def split_path(path: str) -> list[str]:
    """Split a path such as `messages[].role` into its steps."""
    return _STEP.findall(path)


class Alternatives:
    """The schemas of a dialect, with the values of a delta that has been made so far."""

    def __init__(self, tree: DeltaTree) -> None:
        self._tree = tree
        self._places = SchemaPlaces(tree).of

    def narrow(self, fact: Fact, path: str, attribute: str) -> None:
        """Write one attribute of a fact in every alternative; what does not fit stays as it is.

        path: that of the fact, without the name of the event of a stream.
        """
        steps = split_path(path)
        root = ROOTS.get(fact.part, f"parameters/{steps[0]}/schema")
        before = self._tree.current(root)
        below = steps if fact.part in ROOTS else steps[1:]
        if before is None:
            return
        edit = _Edit(fact, attribute, f"#{fact.part}/{'/'.join(step for step in steps if step != '[]')}")
        walk = _Walk(edit, self._tree.current("schemas"), self._places, fact.part)
        after = walk.enter(before, below, "" if fact.part in ROOTS else steps[0])
        if after is None:
            return
        for name, schema in walk.changed.items():
            self._write(f"schemas/{name}", self._tree.get(f"schemas/{name}"), schema)
        if after != before:
            if fact.part in ROOTS:
                self._write(root, before, after)
            else:
                self._tree.set(root, after)

    def _write(self, path: str, before: Any, after: Any) -> None:
        """Set what differs, at the deepest paths that contain it."""
        if before == after:
            return
        if isinstance(before, dict) and isinstance(after, dict) and before.keys() <= after.keys():
            for key, value in after.items():
                self._write(f"{path}/{key}", before.get(key), value)
        else:
            self._tree.set(path, after)


class _Edit:
    """A change of one attribute in the schemas of one field."""

    def __init__(self, fact: Fact, attribute: str, source: str) -> None:
        self.fact = fact
        self.attribute = attribute
        self.source = source

    def apply(self, schema: Schema) -> Schema | None:
        """Return a schema without alternatives with the attribute; None if no value other than null remains."""
        values, types = list_values(schema), list_types(schema)
        if self.attribute == "enum":
            return self._with_values(schema, values, types)
        if self.attribute == "types":
            stated = {*self.fact.types, *(["integer"] if "number" in self.fact.types else [])}
            kept = types & {*stated, "null"}
            if not types or types == {"null"} or kept == types:
                return schema
            return {**schema, "type": _in_order(schema["type"], kept)} if kept & stated else None
        if values is None and types & _TYPES.get(self.attribute, set()):
            return update_schema(schema, self.fact, [self.attribute])
        return schema

    def _with_values(self, schema: Schema, values: list[Any] | None, types: set[str]) -> Schema | None:
        stated = self.fact.enum
        if values is None:
            is_text = "string" in types and all(isinstance(value, str) for value in stated)
            return {**schema, "enum": list(stated)} if is_text else schema
        kept = [value for value in values if value in stated]
        if not kept or "const" in schema:
            return schema if kept else None
        return {**schema, "enum": kept}

    def require(self, schema: Schema, name: str) -> Schema:
        """Return an object with a required field, unless a rule of the dialect says when it may be left out."""
        required = schema.get("required", [])
        rules = [other for branch in schema.get("anyOf", ()) for other in branch.get("required", ())]
        if name in required or name in rules or name not in schema.get("properties", {}):
            return schema
        return {**schema, "required": [*required, name]}


class _Walk:
    """One walk from the schema of a parameter to those of a field below it."""

    def __init__(self, edit: _Edit, schemas: Schemas, places: Mapping[str, tuple[str, str]], part: str) -> None:
        self.changed: dict[str, Schema] = {}
        self._edit = edit
        self._schemas = schemas
        self._places = places
        self._part = part

    def enter(self, schema: Schema, steps: list[str], at: str) -> Schema | None:
        """Return a schema with the change in all that its alternatives have at `steps`; None if no value remains."""
        if "$ref" in schema:
            return self._follow(schema, steps, at)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema and "properties" not in schema:
                return self._choose(schema, keyword, steps, at)
        if not steps:
            return self._edit.apply(schema)
        step, *below = steps
        if step in ("[]", "*"):
            keyword = "items" if step == "[]" else "additionalProperties"
            inner = schema.get(keyword)
            if not isinstance(inner, dict):
                return schema
            after = self.enter(inner, below, join_step(at, step))
            return None if after is None else schema if after == inner else {**schema, keyword: after}
        if self._edit.attribute == "required" and not below:
            return self._edit.require(schema, step)
        return self._enter_field(schema, step, below, join_step(at, step))

    def _enter_field(self, schema: Schema, name: str, below: list[str], at: str) -> Schema | None:
        field = schema.get("properties", {}).get(name)
        if field is None:
            return schema
        after = self.enter(field, below, at)
        if after is None:  # an object with another value of the field is another alternative
            return None if self._edit.attribute == "enum" and not below else schema
        if after == field:
            return schema
        source = {"x-source": self._edit.source} if not below else {}
        return {**schema, "properties": {**schema["properties"], name: {**after, **source}}}

    def _follow(self, schema: Schema, steps: list[str], at: str) -> Schema | None:
        name = schema["$ref"].removeprefix(REFERENCE)
        target = self.changed.get(name, self._schemas[name])
        after = self.enter(target, steps, at)
        if after is None or after == target:
            return None if after is None else schema
        if self._places.get(name) == (self._part, at):
            self.changed[name] = after
            return schema
        return {**after, **{key: value for key, value in schema.items() if key != "$ref"}}

    def _choose(self, schema: Schema, keyword: str, steps: list[str], at: str) -> Schema | None:
        """Leave out the alternatives of which no value remains, and write the discriminator for the others."""
        entered = [self.enter(branch, steps, at) for branch in schema[keyword]]
        kept = [branch for branch in entered if branch is not None]
        if kept == schema[keyword]:
            return schema
        if all(list_types(branch) == {"null"} for branch in kept):
            return None
        changed = {**schema, keyword: kept}
        if "discriminator" in schema:
            names = [branch.get("$ref") for branch in kept]
            mapping = schema["discriminator"].get("mapping", {})
            changed["discriminator"] = {
                **schema["discriminator"],
                "mapping": {value: target for value, target in mapping.items() if target in names},
            }
            if None in names:  # a discriminator needs a name for each alternative
                del changed["discriminator"]
        elif len(kept) < len(entered):  # the description may name the alternatives that are left out
            changed.pop("description", None)
            if len(kept) == 1:
                del changed[keyword]
                changed = {**kept[0], **changed}
        return changed


def _in_order(declared: str | list[str], kept: set[str]) -> str | list[str]:
    names = [name for name in ([declared] if isinstance(declared, str) else declared) if name in kept]
    return names[0] if len(names) == 1 else names
