"""Read the schemas of an OpenAPI description, of any version, as JSON Schema 2020-12 with named schemas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.tree.yaml_file import ContractError
from openapi.importing.schemas.described_facts import add_described_facts
from openapi.importing.schemas.merged_schema import merge_all
from openapi.importing.schemas.references import follow
from openapi.importing.todo import Todo
from openapi.reading.grammar.vocabulary import parse_type
from openapi.schema.json_schema import REFERENCE
from openapi.schema.null_values import add_null

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.schema.json_schema import Schema

TYPES: Final = frozenset({"string", "boolean", "integer", "number", "array", "object", "null"})
NUMBERS: Final = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems"}
    | {"maxItems", "minProperties", "maxProperties", "minContains", "maxContains"}
)
VALUES: Final = frozenset(
    {"enum", "const", "default", "pattern", "required", "uniqueItems", "dependentRequired"}
    | {"contentMediaType", "contentEncoding", "x-maxCharacters", "x-maxMediaBytes", "x-mediaFormats", "x-presence"}
    | {"x-absent"}
)
"""Keywords that are copied; the extensions among them are those of our own descriptions."""
MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
LISTS: Final = frozenset({"anyOf", "oneOf", "prefixItems"})
INNER: Final = frozenset({"items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else"})
READ_ELSEWHERE: Final = frozenset({"type", "format", "nullable", "allOf", "discriminator", "$ref", "description"})
NOTES: Final = frozenset(
    {"title", "example", "examples", "readOnly", "writeOnly", "externalDocs", "xml", "$comment", "$id"}
    | {"$schema", "$defs", "definitions", "contentSchema"}
    | {"x-source", "x-interpretation", "x-capability", "x-neutral", "x-server-limits", "x-rule", "x-rules"}
    | {"x-mediaKind", "x-mediaSources", "x-maxMedia", "x-uncounted"}
)
"""Keywords that restrict no value; the extensions among them are notes of our own descriptions."""
MACHINE_FORMATS: Final = frozenset({"float", "double", "decimal"})  # say no more than the type
COMBINED: Final = ("dependentSchemas", "dependentRequired", "if")
"""Keywords of the whole request, which combine parameters."""
MAX_SCHEMAS: Final = 50_000
_NAME: Final = re.compile(r"#/(?:components/schemas|definitions|\$defs)/([^/]+)")


class SchemaReader:
    """Reads schemas, collects the named ones, and lists as to-dos what it does not understand."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.schemas: dict[str, Schema] = {}
        self._todos: dict[Todo, None] = {}
        self._prose: dict[Todo, None] = {}
        self._extensions: dict[str, Todo] = {}  # by keyword; its first place stands for all
        self._document = document
        self._open: list[str] = []  # the named schemas that are being read, outermost first
        self._count = 0

    def read(self, node: Any, pointer: str, subject: str) -> Schema:
        """Read a schema. Raises ContractError for references that cannot be followed, and for too many schemas."""
        self._count += 1
        if self._count > MAX_SCHEMAS:
            raise ContractError(f"{pointer}: the schemas are too large: expected at most {MAX_SCHEMAS} of them")
        if not isinstance(node, dict):
            if node is not True and node is not None:
                self.add_todo(subject, pointer, f"schema {node!r} is not understood")
            return {}
        target, place = follow(self._document, node, pointer)
        name = _NAME.fullmatch(place) if "$ref" in node else None
        if name is None or not isinstance(target, dict) or not _is_structure(target):
            if place in self._open:
                return self._cut(subject, place)
            return self._inside(place, target, subject) if "$ref" in node else self._convert(target, place, subject)
        if place in self._open:
            return self._cut(subject, place)
        key = re.sub(r"\W+", "_", name[1])
        if key not in self.schemas:
            original, _ = follow(self._document, {"$ref": node["$ref"]}, pointer)
            self.schemas[key] = self._inside(place, original, subject)
        reference: Schema = {"$ref": REFERENCE + key}
        if "default" in target:
            reference["default"] = target["default"]
        return add_null(reference) if node.get("nullable") is True else reference

    @property
    def todos(self) -> list[Todo]:
        """What is not understood, in the order of the description; extensions last, each once."""
        return [*self._todos, *self._extensions.values()]

    @property
    def prose(self) -> list[Todo]:
        """Sentences that no rule reads and that do not seem to state a fact, each once."""
        return list(self._prose)

    def add_todo(self, subject: str, pointer: str, text: str, *, quoted: bool = False) -> None:
        """Add a to-do, once. `quoted`: whether the text contains words of the description."""
        self._todos[Todo(subject, pointer, text, quoted)] = None

    def _cut(self, subject: str, place: str) -> Schema:
        self.add_todo(subject, place, "the schema contains itself: any value is accepted at the inner level")
        return {}

    def _inside(self, place: str, node: Any, subject: str) -> Schema:
        self._open.append(place)
        try:
            return self._convert(node, place, subject)
        finally:
            self._open.pop()

    def _convert(self, node: Any, pointer: str, subject: str) -> Schema:
        if not isinstance(node, dict):
            return self.read(node, pointer, subject)
        schema: Schema = {}
        for key, value in node.items():
            schema.update(self._keyword(str(key), value, pointer, subject))
        _set_exclusive_bounds(schema, node)
        schema = self._with_all(schema, node, pointer, subject)
        if "discriminator" in node:
            self._set_discriminator(schema, node["discriminator"], pointer, subject)
        if not re.search(r"/allOf/\d+$", pointer):  # its fields may be in the other parts
            self._drop_undescribed(schema, pointer, subject)
        if subject and isinstance(node.get("description"), str):
            schema = self._described(schema, node["description"], pointer, subject)
        return add_null(schema) if node.get("nullable") is True else schema

    def _keyword(self, key: str, value: Any, pointer: str, subject: str) -> Schema:
        if key == "type":
            return self._type(value, pointer, subject)
        if key == "format":
            return {} if value in MACHINE_FORMATS else {key: value} if isinstance(value, str) else {}
        if key in COMBINED and not subject:
            return {key: True}
        if key in MAPS and isinstance(value, dict):
            return {key: dict(self._fields(value, f"{pointer}/{key}", subject, named=key == "properties"))}
        if key in LISTS and isinstance(value, list):
            return {key: [self.read(item, f"{pointer}/{key}/{at}", subject) for at, item in enumerate(value)]}
        if key in INNER and isinstance(value, dict):
            inside = f"{subject}[]" if key == "items" else subject
            return {key: self.read(value, f"{pointer}/{key}", inside)}
        if key in ("additionalProperties", "items") and isinstance(value, bool):
            return {key: value} if value is False else {}
        if key in NUMBERS and isinstance(value, (int, float)):
            return {} if isinstance(value, bool) else {key: value}
        if key == "required":
            own = value if isinstance(value, list) else []
            return {key: [str(name) for name in own]} if own else {}
        if key == "enum" and not isinstance(value, list):
            self.add_todo(subject, f"{pointer}/{key}", f"enum {value!r} is not a list")
            return {}
        if key in VALUES:
            return {key: value}
        if key == "deprecated":
            if value is True:
                self.add_todo(subject, f"{pointer}/{key}", "deprecated: is it to be tested?")
            return {}
        if key.startswith("x-") and key not in NOTES:
            self._extensions.setdefault(key, Todo("extension", f"{pointer}/{key}", f"{key}: {value}, and elsewhere"))
        elif key not in READ_ELSEWHERE and key not in NOTES:
            self.add_todo(subject, f"{pointer}/{key}", f"{key}: {value}")
        return {}

    def _type(self, value: Any, pointer: str, subject: str) -> Schema:
        kinds = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        read: list[str] = []
        for kind in kinds:
            parsed = parse_type(str(kind))
            if kind not in TYPES and parsed is None:
                self.add_todo(subject, f"{pointer}/type", f"type {kind!r} is not understood")
                continue
            read.append(kind if kind in TYPES else parsed.name if parsed else "")
        return {"type": read[0] if len(read) == 1 else read} if read else {}

    def _fields(
        self, fields: Mapping[Any, Any], pointer: str, subject: str, *, named: bool
    ) -> Iterator[tuple[str, Schema]]:
        for name, node in fields.items():
            inside = f"{subject}.{name}" if named and subject else str(name) if named else subject
            step = str(name).replace("~", "~0").replace("/", "~1")
            yield str(name), self.read(node, f"{pointer}/{step}", inside)

    def _with_all(self, schema: Schema, node: Mapping[str, Any], pointer: str, subject: str) -> Schema:
        parts = node.get("allOf")
        if not isinstance(parts, list):
            return schema
        read = [self.read(part, f"{pointer}/allOf/{at}", subject) for at, part in enumerate(parts)]
        if len(read) == 1 and not set(schema) - {"default"}:
            return {**read[0], **schema}
        merged, contradictions = merge_all([*read, schema], self.schemas)
        for contradiction in contradictions:
            self.add_todo(subject, f"{pointer}/allOf", contradiction)
        return merged

    def _drop_undescribed(self, schema: Schema, pointer: str, subject: str) -> None:
        """Drop required fields that have no schema, and fields of responses that nothing may be added to, as to-dos."""
        fields = schema.get("properties", {})
        missing = [name for name in schema.get("required", ()) if name not in fields]
        if fields and missing:
            schema["required"] = [name for name in schema["required"] if name in fields]
            self.add_todo(
                subject or "request", f"{pointer}/required", f"required but not described: {', '.join(missing)}"
            )
        if subject.startswith(("response.", "stream.")) and schema.get("additionalProperties") is False:
            del schema["additionalProperties"]  # a server that adds a field breaks no client that ignores it
            self.add_todo(subject, f"{pointer}/additionalProperties", "no other fields are allowed")

    def _described(self, schema: Schema, description: str, pointer: str, subject: str) -> Schema:
        name = re.split(r"[.\[]", subject.rstrip("[]"))[-1]
        schema, left, prose = add_described_facts(schema, description, name, self.schemas)
        self._prose |= dict.fromkeys(Todo(subject, f"{pointer}/description", text) for text in prose)
        for text in left:
            self.add_todo(subject, f"{pointer}/description", text, quoted=True)
        return schema

    def _set_discriminator(self, schema: Schema, stated: Any, pointer: str, subject: str) -> None:
        """Let each alternative state the value that chooses it."""
        name = stated.get("propertyName") if isinstance(stated, dict) else None
        keyword = next((key for key in ("oneOf", "anyOf") if key in schema), None)
        if not isinstance(name, str) or keyword is None:
            self.add_todo(subject, f"{pointer}/discriminator", f"discriminator: {stated}")
            return
        given = stated.get("mapping")
        mapping = {str(value): str(target).rpartition("/")[2] for value, target in (given or {}).items()}
        chosen: dict[str, str] = {}
        for at, branch in enumerate(schema[keyword]):
            reference = str(branch.get("$ref", ""))
            if not reference:
                continue
            key = reference.removeprefix(REFERENCE)
            values = [value for value, target in mapping.items() if re.sub(r"\W+", "_", target) == key]
            fields = self.schemas[key].get("properties", {})
            known = fields.get(name, {})
            own = [known["const"]] if "const" in known else known.get("enum", [])
            if not own and name in fields and values:
                inner = {**known, "enum": values}
                required = sorted({*self.schemas[key].get("required", ()), name})
                schema[keyword][at] = {
                    **self.schemas[key],
                    "properties": {**fields, name: inner},
                    "required": required,
                }
            else:
                chosen.update({str(value): reference for value in own or values})
        if len(set(chosen.values())) == len(schema[keyword]):
            schema["discriminator"] = {"propertyName": name, "mapping": chosen}


def _is_structure(node: Mapping[str, Any]) -> bool:
    """Return whether a named schema is worth its name: it has fields or alternatives."""
    return bool({"properties", "anyOf", "oneOf", "allOf"} & set(node))


def _set_exclusive_bounds(schema: Schema, node: Mapping[str, Any]) -> None:
    """Convert the boolean form of OpenAPI 3.0, in which `exclusiveMinimum` qualifies `minimum`."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if node.get(exclusive) is True and bound in schema:
            schema[exclusive] = schema.pop(bound)
