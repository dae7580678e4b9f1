"""Write unusual values for the leaves of a schema: long or empty texts of all characters, fractions, repetitions.

Lengths, patterns, ranges and names of entries come from the schema: a string of a limited length is exactly as long as
it may be, and of a pattern has every character that it allows. What a string means comes from the name of its field;
one that refers to something or is in a language of its own stays as it is.
"""

from __future__ import annotations

import json
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.combinations.forms.schema_forms import ITEM, OTHER_FIELD, UNIONS, list_inner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from openapi.schema.json_schema import Schema

    IsValid = Callable[[Any], bool]

UNUSUAL: Final = "~"
"""The last step of a form that leads to an unusual value."""
SENTENCE: Final = (
    "Größe “9½”: it’s 5 % of A&B <c> {d} [e] (f) — #1 @2 $3 ^4 ~5 `6` \"7\" '8' \\9/ 0|1 = +2 *3 _4; "
    "你好 שלום 🙂!\n\tDone? "
)
MORE: Final = "Report the weather in a city. "
"""What continues a string until it is long."""
LABEL: Final = "Key 钥 מפתח Ключ 🔑 7/a.b:c_d-e+f=g@h ~(i) \"j\" 'k' <l> {m} [n] #1 $2 %3 ^4 &5 *6 `7` |8 \\9 ;? ! "
IDENTIFIER: Final = "mcp.files_v2/read-Text:now_größe_读"
FILLED: Final = ("name", "id", "description")
"""How fields end that are never empty here: they name something, or other requests send them empty."""
TEXTS: Final = frozenset(("content", "text", "reasoning", "refusal", "input"))
"""Fields with text that the model reads, which is short here."""
LENGTHS: Final[Mapping[str, int]] = {"description": 2100, "name": 100, "id": 200}
"""Characters of a field without a limit. Other texts that the model reads have one SENTENCE."""
LONG: Final = 1100
LONGEST: Final = 4096
KEY: Final = 64
"""Characters of the name of an entry."""
MEANINGFUL: Final = frozenset(("type", "required", "role"))
"""Fields whose strings mean something, although the schema does not list them."""
NUMBERS: Final = (0.5, -1.5, 3.0, 1e-5, 7, 0, -7, 100)
STOP_IDS: Final = "stop_token_ids"
"""A list of ids of tokens."""
KEYS: Final = ("a.b/c d-e", "0", "300", "1023")
SCHEMA: Final = "parameters"
"""The field with a schema that clients generate, in which everything may be unusual."""
ARGUMENTS: Final = "arguments"
PROPERTIES: Final[Mapping[str, Mapping[str, Any]]] = {
    "größe": {
        "type": "number",
        "description": SENTENCE,
        "minimum": -0.5,
        "exclusiveMaximum": 1e3,
        "default": 0.5,
        "examples": [1, 0.25],
    },
    "a.b/c d": {
        "type": "string",
        "description": "",
        "title": "",
        "format": "date-time",
        "pattern": '^[^\\s"“]+$',
        "maxLength": 4000,
        "default": "",
    },
    "$ids": {
        "type": "array",
        "description": MORE * 40,
        "items": {"$ref": "#/$defs/größe"},
        "minItems": 0,
        "uniqueItems": True,
        "default": [],
    },
}
KEYWORDS: Final[Mapping[str, Any]] = {
    "required": ["größe", "$ids"],
    "additionalProperties": False,
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$comment": "",
    "title": "Größe: “a” & 'b'",
    "description": "",
    "$defs": {"größe": {"type": ["integer", "null"], "enum": [1, 2, None]}},
}
"""What the schema of a function may have, as far as a contract allows it."""
HISTORY: Final = json.dumps(
    {
        "city": "Rome “x” \\ / \n\t 🙂",
        "days": 3,
        "share": 2.0,
        "small": 1e-07,
        "large": 9007199254740993,
        "on": True,
        "off": False,
        "none": None,
        "list": [1, "a", None, [], {}],
        "a.b/c d": {"": ""},
    }
)
"""Arguments with every type of JSON."""


def is_open(name: str, *, has_blocks: bool) -> bool:
    """Return whether a string with this name may be any text. has_blocks: whether it has a value that it needs."""
    return name in (*TEXTS, *LENGTHS, ARGUMENTS) or not (has_blocks or name in MEANINGFUL)


def is_leaf(schema: Schema, pointer: str) -> bool:
    """Return whether a schema has no schema inside, and does not list its values."""
    return not any(key in schema for key in ("enum", "const", "x-mediaKind", "not", "required")) and not any(
        list_inner(schema, pointer)
    )


def list_kinds(schema: Schema) -> frozenset[str]:
    """Return the types that a schema allows."""
    types = schema.get("type", ())
    return frozenset((types,) if isinstance(types, str) else types)


def write_leaf(schema: Schema, name: str, is_valid: IsValid, *, inside: bool) -> Iterator[Any]:
    """Yield unusual values of a leaf. inside: whether it is part of the value of a parameter."""
    if name == SCHEMA and "object" in list_kinds(schema):
        yield _write_schema(is_valid)
    elif name == ARGUMENTS:
        yield HISTORY
    elif "string" in list_kinds(schema):
        yield from _write_texts(schema, name, is_valid, inside=inside)


def write_items(schema: Schema, items: Schema, name: str, is_valid: IsValid) -> Iterator[list[Any]]:
    """Yield a list of unusual values, of which two are equal."""
    values = [value for value in _list_scalars(items, name) if is_valid([value])]
    most = schema.get("maxItems", len(values) + 1)
    repeated = [*values[: most - 1], *values[:1]]
    yield from [value for value in (repeated, values[:most]) if values and is_valid(value)][:1]


def write_entries(values: Schema, name: str, is_valid: IsValid) -> Iterator[dict[str, Any]]:
    """Yield an object with unusual names and values."""
    listed = _list_scalars(values, name)
    keys = [
        key for key in (_fit(SENTENCE, KEY, {}, lambda _: True), *KEYS) for value in listed if is_valid({key: value})
    ]
    pairs = dict(zip(dict.fromkeys(keys), cycle(listed), strict=False))
    kept = {key: value for key, value in pairs.items() if is_valid({key: value})}
    if kept and is_valid(kept):
        yield kept


def list_entry_names(form: Sequence[str]) -> Iterator[str]:
    """Yield unusual names of an entry, other ones for each branch of a union in a form."""
    number = "".join(char for step in form for char in step if char.isdigit() and step.startswith(UNIONS))
    yield from (f"{key} {number}".strip() for key in KEYS)


def _write_schema(is_valid: IsValid) -> dict[str, Any]:
    """Return the schema of an object with as many keywords as are valid."""
    properties = {name: {"type": keywords["type"]} for name, keywords in PROPERTIES.items()}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    for name, keywords in PROPERTIES.items():
        for key, value in keywords.items():
            changed = {
                **schema,
                "properties": {**schema["properties"], name: {**schema["properties"][name], key: value}},
            }
            schema = changed if is_valid(changed) else schema
    for key, value in KEYWORDS.items():
        schema = {**schema, key: value} if is_valid({**schema, key: value}) else schema
    return schema


def _list_scalar_kinds(schema: Schema, name: str) -> frozenset[str]:
    """Return the types of the scalars in a list or an object; ids of tokens are integers, whatever else is ignored."""
    return list_kinds(schema) or frozenset(("integer",) if name == STOP_IDS else ())


def _list_scalars(schema: Schema, name: str) -> list[Any]:
    kinds = _list_scalar_kinds(schema, name)
    if "string" in kinds:
        return list(_write_texts(schema, name, lambda _: True, inside=True))
    whole = "number" not in kinds
    low, high = schema.get("minimum", -1000), schema.get("maximum", 1000)
    numbers = [value for value in NUMBERS if low <= value <= high and not (whole and isinstance(value, float))]
    return numbers if kinds & {"number", "integer"} else []


def _write_texts(schema: Schema, name: str, is_valid: IsValid, *, inside: bool) -> Iterator[str]:
    """Yield characters of every kind, as many as there may be, and the empty string where that says something."""
    text = IDENTIFIER if name == "name" else SENTENCE if inside else LABEL
    length = len(SENTENCE) if name in TEXTS else LENGTHS.get(name.rpartition("_")[2], LONG)
    most = schema.get("maxLength", LONGEST + 1)
    values = [_fit(text, most if most <= LONGEST else length, schema, is_valid)]
    if not name.endswith(FILLED):
        values.append("")
    yield from (value for value in values if len(value) >= schema.get("minLength", 0) and is_valid(value))


def _fit(text: str, length: int, schema: Schema, is_valid: IsValid) -> str:
    """Return the characters of a string that are valid, continued until it has this length."""
    least = max(1, schema.get("minLength", 1))

    def keep(part: str) -> str:
        return "".join(char for char in part if "pattern" not in schema or is_valid(char * least))

    kept, more = keep(text), keep(MORE if " " in text else MORE.replace(" ", "_").replace(".", ""))
    return (kept + more * (length // max(1, len(more)) + 1))[:length]


def find_target(schema: Schema, pointer: str, name: str, resolve: Callable[[str], tuple[str, Schema]]) -> str | None:
    """Return the step to the scalars of a list or an object; empty for a leaf, None for anything else."""
    inner = dict(list_inner(schema, pointer))
    if is_leaf(schema, pointer):
        return "" if list_kinds(schema) & {"string", "object"} else None
    if len(inner) == 1:
        step, at = next(iter(inner.items()))
        own, items = resolve(at)
        kinds = _list_scalar_kinds(items, name)
        if step in (ITEM, OTHER_FIELD) and is_leaf(items, own) and kinds & {"string", "number", "integer"}:
            return step
    return None
