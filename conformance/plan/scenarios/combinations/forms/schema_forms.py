"""List the forms that a schema allows, and tell which of them a value has.

A form is a path through the schema: a branch of a union, a value of an enum, one of several types, or a field. Two
requests with the same forms may have different values. A server may still handle each form in code of its own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from openapi.description.validation import compile_part
from openapi.schema.json_schema import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import jsonschema_rs

    from openapi.schema.json_schema import Schema

Form = tuple[str, ...]
UNIONS: Final = ("anyOf", "oneOf")
ITEM: Final = "[]"
OTHER_FIELD: Final = ".*"
TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}


class SchemaForms:
    """The forms of the named schemas of a description."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._compiled: dict[str, jsonschema_rs.Validator] = {}
        self._known: dict[tuple[str, str], frozenset[Form]] = {}
        self._resolved: dict[str, tuple[str, Schema]] = {}
        self._inner: dict[str, tuple[tuple[str, str], ...]] = {}

    def resolve(self, pointer: str) -> tuple[str, Schema]:
        """Return the schema at a pointer, and its own pointer if this one leads to a reference."""
        if pointer not in self._resolved:
            self._resolved[pointer] = self._resolve(pointer)
        return self._resolved[pointer]

    def _resolve(self, pointer: str) -> tuple[str, Schema]:
        schema: Any = self._document
        for part in pointer.removeprefix("#/").split("/"):
            part = part.replace("~1", "/").replace("~0", "~")
            schema = schema[int(part) if isinstance(schema, list) else part]
        return self.resolve(schema["$ref"]) if "$ref" in schema else (pointer, schema)

    def is_valid(self, pointer: str, value: Any) -> bool:
        """Return whether the schema at a pointer allows a value."""
        if pointer not in self._compiled:
            self._compiled[pointer] = compile_part(self._document, self.resolve(pointer)[1])
        return self._compiled[pointer].is_valid(value)

    def list_forms(self, pointer: str, seen: frozenset[str] = frozenset()) -> Iterator[Form]:
        """Yield every form of the schema at a pointer, in order. A schema inside itself is listed once."""
        pointer, schema = self.resolve(pointer)
        if pointer.startswith(REFERENCE) and pointer.count("/") == REFERENCE.count("/"):
            if pointer in seen:
                return
            seen |= {pointer}
        yield from (("=" + json.dumps(value),) for value in schema.get("enum", ()))
        types = schema.get("type")
        yield from ((f"type:{kind}",) for kind in (types if isinstance(types, list) else ()))
        for step, inner in list_inner(schema, pointer):
            yield (step,)
            yield from ((step, *form) for form in self.list_forms(inner, seen))

    def find_forms(self, pointer: str, value: Any) -> frozenset[Form]:
        """Return the forms of the schema at a pointer that a valid value has. Equal values are looked at once."""
        key = pointer, json.dumps(value, sort_keys=True)
        if key not in self._known:
            self._known[key] = frozenset(self._find(pointer, value))
        return self._known[key]

    def find_values(self, pointer: str, form: Form, value: Any) -> Iterator[Any]:
        """Yield the parts of a valid value to which a form leads."""
        pointer, schema = self.resolve(pointer)
        inner = dict(list_inner(schema, pointer)).get(form[0]) if form else None
        if inner is None:
            yield value
            return
        for part in self._take(form[0], inner, schema, value):
            yield from self.find_values(inner, form[1:], part)

    def _find(self, pointer: str, value: Any) -> Iterator[Form]:
        pointer, schema = self.resolve(pointer)
        if any(type(value) is type(known) and value == known for known in schema.get("enum", ())):
            yield ("=" + json.dumps(value),)
        types = schema.get("type")
        yield from ((f"type:{kind}",) for kind in (types if isinstance(types, list) else ()) if is_type(value, kind))
        if pointer not in self._inner:
            self._inner[pointer] = tuple(list_inner(schema, pointer))
        for step, inner in self._inner[pointer]:
            for part in self._take(step, inner, schema, value):
                yield (step,)
                found = self.find_forms(inner, part) if step == ITEM else self._find(inner, part)
                yield from ((step, *form) for form in found)

    def _take(self, step: str, inner: str, schema: Schema, value: Any) -> Iterator[Any]:
        """Yield the parts of a value to which an inner schema applies."""
        if step.startswith(UNIONS):
            yield from [value] if self.is_valid(inner, value) else []
        elif step == ITEM:
            yield from value if isinstance(value, list) else ()
        elif isinstance(value, dict):
            own = schema.get("properties", {})
            names = value.keys() - own.keys() if step == OTHER_FIELD else {step[1:]} & value.keys()
            yield from (value[name] for name in sorted(names))


def list_inner(schema: Schema, pointer: str) -> Iterator[tuple[str, str]]:
    """Yield the schemas inside a schema: the step of a form that leads to each, and its pointer."""
    for keyword in UNIONS:
        yield from ((f"{keyword}[{at}]", f"{pointer}/{keyword}/{at}") for at in range(len(schema.get(keyword, ()))))
    for name in schema.get("properties", {}):
        yield f".{name}", f"{pointer}/properties/{name.replace('~', '~0').replace('/', '~1')}"
    if isinstance(schema.get("items"), dict):
        yield ITEM, f"{pointer}/items"
    if isinstance(schema.get("additionalProperties"), dict):
        yield OTHER_FIELD, f"{pointer}/additionalProperties"


def is_type(value: Any, kind: str) -> bool:
    """Return whether a value has a type of JSON Schema. Booleans are not numbers, and 1.0 is an integer."""
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, TYPES[kind]) or (kind == "integer" and isinstance(value, float) and value.is_integer())
