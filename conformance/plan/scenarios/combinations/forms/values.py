"""Write a small realistic value that has a given form of a schema.

Enums, constants, types and required fields come from the schema. What a schema cannot say, such as the text of a
grammar or the data of an image, comes from the table of building blocks.
"""

from __future__ import annotations

import json
from base64 import b64encode
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.media import HOST, TYPES, read_media
from conformance.plan.scenarios.combinations.forms.leaf_values import (
    SCHEMA as PARAMETERS,
)
from conformance.plan.scenarios.combinations.forms.leaf_values import (
    UNUSUAL,
    find_target,
    is_open,
    list_entry_names,
    write_entries,
    write_items,
    write_leaf,
)
from conformance.plan.scenarios.combinations.forms.schema_forms import ITEM, OTHER_FIELD, UNIONS, list_inner
from conformance.plan.scenarios.combinations.tasks import CODE, WEATHER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.plan.scenarios.combinations.forms.schema_forms import Form, SchemaForms
    from openapi.schema.json_schema import Schema

SCHEMA: Final = WEATHER["function"]["parameters"]  # type: ignore[index]
TAGS: Final = {"begin": "<weather>", "schema": SCHEMA, "end": "</weather>"}
FORMAT: Final = {
    "type": "triggered_tags",
    "triggers": ["<weather>"],
    "tags": [{"begin": "<weather>", "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": "</weather>"}],
}
DOCUMENT: Final = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
)
NAMES: Final[Mapping[str, Any]] = {
    "role": "user",
    "content": "Hello!",
    "text": "Hello!",
    "id": "call00001",
    "tool_call_id": "call00001",
    "arguments": '{"city": "Rome"}',
    "input": "sunny",
    "parameters": SCHEMA,
    "schema": CODE,
    "json": json.dumps(CODE),
    "regex": "[0-9]+",
    "choice": ["yes", "no"],
    "grammar": 'root ::= "yes" | "no"',
    "definition": "[a-z]+",
    "structural_tag": json.dumps({"type": "structural_tag", "format": FORMAT}),
    "format": FORMAT,
    "structures": [TAGS],
    "triggers": ["<weather>"],
    "whitespace_pattern": "[ ]?",
    "disable_additional_properties": False,
    "defer_loading": False,
    "refusal": "I cannot help with that.",
    "reasoning": "The user says hello.",
    "chat_template": "{% for message in messages %}{{ message.content }}\n{% endfor %}",
    "file_data": f"data:application/pdf;base64,{b64encode(DOCUMENT).decode()}",
    "filename": "page.pdf",
    "voice": "alloy",
    "model": "omni-moderation-latest",
    "city": "Rome",
    "country": "IT",
    "region": "Lazio",
    "timezone": "Europe/Rome",
}
"""Values of fields by their names."""
INSIDE: Final[Mapping[tuple[str, str], Any]] = {
    ("function", "name"): "get_weather",
    ("functions", "name"): "get_weather",
    ("function_call", "name"): "get_weather",
    ("custom", "name"): "write_note",
    ("allowed_tools", "tools"): [{"type": "function", "function": {"name": "get_weather"}}],
}
"""Values of fields by the field around them and their own names."""
PLAIN: Final[Mapping[str, Any]] = {
    "string": "chatproof",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "object": {},
    "array": [],
    "null": None,
}
FILES: Final = {"image": "red.jpg", "video": "red.mp4", "audio": "low.wav"}
ENCODED: Final = ("data", "base64")


class FormValues:
    """Writes values for the schemas of one description."""

    def __init__(self, forms: SchemaForms) -> None:
        self._forms = forms

    def write(self, pointer: str, form: Form, around: str = "", name: str = "") -> Iterator[Any]:
        """Yield valid values that have the form, simple ones first. around, name: of the field that has the value.

        A form whose last step is UNUSUAL leads to unusual values.
        """
        pointer, schema = self._forms.resolve(pointer)
        plain = form[:-1] if form[-1:] == (UNUSUAL,) else form
        for value in self._write(pointer, schema, form, around, name):
            if self._forms.is_valid(pointer, value) and (not plain or plain in self._forms.find_forms(pointer, value)):
                yield value

    def list_targets(self, pointer: str, around: str, name: str, seen: frozenset[str] = frozenset()) -> Iterator[Form]:
        """Yield the forms that lead to leaves with unusual values, and to lists and objects of such."""
        pointer, schema = self._forms.resolve(pointer)
        if pointer in seen:
            return
        step = find_target(schema, pointer, name, self._forms.resolve)
        is_text = step is not None and is_open(name, has_blocks=any(_list_blocks(around, name)))
        if is_text or name == PARAMETERS:
            yield ()
        elif step is None:
            for step, inner in list_inner(schema, pointer):
                outer, own = (name, step[1:]) if step.startswith(".") else (around, name)
                yield from ((step, *form) for form in self.list_targets(inner, outer, own, seen | {pointer}))

    def _unusual(self, pointer: str, schema: Schema, around: str, name: str) -> Iterator[Any]:
        def is_valid(value: Any) -> bool:
            return self._forms.is_valid(pointer, value)

        inner = dict(list_inner(schema, pointer))
        step = find_target(schema, pointer, name, self._forms.resolve)
        if step == ITEM:
            yield from write_items(schema, self._forms.resolve(inner[ITEM])[1], name, is_valid)
        elif step == OTHER_FIELD:
            yield from write_entries(self._forms.resolve(inner[OTHER_FIELD])[1], name, is_valid)
        else:
            yield from write_leaf(schema, name, is_valid, inside=bool(around))

    def _write(self, pointer: str, schema: Schema, form: Form, around: str, name: str) -> Iterator[Any]:
        if not form:
            yield from self._simple(pointer, schema, around, name)
            return
        if form == (UNUSUAL,):
            yield from self._unusual(pointer, schema, around, name)
            return
        if form[-1] != UNUSUAL:
            yield from _list_blocks(around, name)
        step, rest = form[0], form[1:]
        inner = dict(list_inner(schema, pointer)).get(step, "")
        if step.startswith("="):
            yield json.loads(step[1:])
        elif step.startswith("type:"):
            kind = step.removeprefix("type:")
            yield from self._simple(pointer, {**schema, "type": kind}, around, name) if kind != "null" else [None]
        elif step.startswith(UNIONS):
            if "properties" in schema:
                needed = self._forms.resolve(inner)[1].get("required", [])
                yield from self._object(
                    pointer, {**schema, "required": [*schema.get("required", []), *needed]}, {}, name
                )
            else:
                yield from self.write(inner, rest, around, name)
        elif step == ITEM:
            yield from ([item] for item in self.write(inner, rest, around, name))
        elif step == OTHER_FIELD:
            for value in self.write(inner, rest, name, "chatproof"):
                entries = ({key: value} for key in list_entry_names(rest) if form[-1] == UNUSUAL)
                plain = {"chatproof": value}
                yield next((entry for entry in entries if self._forms.is_valid(pointer, entry)), plain)
        else:
            for value in self.write(inner, rest, name, step[1:]):
                yield from self._object(pointer, schema, {step[1:]: value}, name)

    def _simple(self, pointer: str, schema: Schema, around: str, name: str) -> Iterator[Any]:
        """Yield simple values of a schema, the most realistic one first."""
        if "x-mediaKind" in schema:
            yield _locate(schema, FILES[schema["x-mediaKind"]])
            return
        if "const" in schema:
            yield schema["const"]
        yield from _list_blocks(around, name)
        yield from schema.get("enum", ())
        yield from schema.get("examples", ())
        types = schema.get("type", [])
        kinds = types if isinstance(types, list) else [types]
        if "object" in kinds:
            yield from self._object(pointer, schema, {}, name)
        if "array" in kinds and "items" in schema:
            yield from ([item] for item in self.write(f"{pointer}/items", (), around, name))
        for keyword in UNIONS if "properties" not in schema else ():
            for at in range(len(schema.get(keyword, ()))):
                yield from self.write(f"{pointer}/{keyword}/{at}", (), around, name)
        yield from (PLAIN[kind] for kind in kinds or PLAIN)

    def _object(self, pointer: str, schema: Schema, fields: Mapping[str, Any], name: str) -> Iterator[Any]:
        """Yield objects with these fields and those that the schema requires, or one of its alternatives."""
        own = dict(list_inner(schema, pointer))
        unions = chain.from_iterable(schema.get(keyword, ()) for keyword in UNIONS)
        alternatives = [alternative.get("required", []) for alternative in unions] or [[]]
        for more in sorted(alternatives, key=lambda names: not fields.keys() & set(names)):
            value = dict(fields)
            for field in dict.fromkeys([*schema.get("required", []), *more]):
                if field not in value and f".{field}" in own:
                    for simplest in islice(self.write(own[f".{field}"], (), name, field), 1):
                        value[field] = simplest
            yield self._with_matching_data(own, value)

    def _with_matching_data(self, own: Mapping[str, str], value: dict[str, Any]) -> dict[str, Any]:
        """Return an object whose file is in the format that another field names."""
        for field in value:
            schema = self._forms.resolve(own[f".{field}"])[1] if f".{field}" in own else {}
            kind = schema.get("x-mediaKind")
            if f"low.{value.get('format')}" in ("low.mp3", "low.wav", "low.flac") and kind == "audio":
                return {**value, field: _locate(schema, f"low.{value['format']}")}
        return value


def _list_blocks(around: str, name: str) -> Iterator[Any]:
    """Yield the building blocks for a field."""
    if (around, name) in INSIDE:
        yield INSIDE[around, name]
    if name in NAMES:
        yield NAMES[name]


def _locate(schema: Schema, name: str) -> str:
    """Return the file as the schema wants it: as base64, as a data URL, or as the address of the file."""
    sources, extension = schema["x-mediaSources"], name.rpartition(".")[2]
    if schema.get("x-mediaFormats") and extension.upper() not in schema["x-mediaFormats"]:
        name = f"{name.rpartition('.')[0]}.{schema['x-mediaFormats'][0].lower()}"
    if not set(ENCODED) & set(sources):
        return f"http://{HOST}/{name}"
    data = b64encode(read_media(name)).decode()
    return data if "base64" in sources else f"data:{TYPES[name.rpartition('.')[2]][1]};base64,{data}"
