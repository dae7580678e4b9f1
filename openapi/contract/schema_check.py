"""Soundness: whether a resolved tree can be a dialect at all, told in one line that names the place and the cure.

Members that are missing, of a wrong kind or with a word nobody knows; schemas that are no JSON Schema; ranges that
hold no value. What a tree means is read by `loading`; whether the data agree with themselves, the tests of this room
tell.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs

from openapi.contract.forms import AnswerForm, ErrorKind, StreamForm
from openapi.contract.parameter import Keyword
from openapi.contract.resolution import ContractError
from openapi.schema.excerpt import errors_of
from openapi.schema.problem import problems_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.resolution import Tree

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
TEXT: Final = {"type": "string", "minLength": 1}
OBJECT: Final = {"type": "object"}
LEVEL: Final = {"enum": [str(keyword) for keyword in Keyword]}
EXPECT: Final = {"enum": ["accept", "reject"]}
ENDS: Final = (
    *(("minimum", "maximum"), ("exclusiveMinimum", "maximum"), ("minimum", "exclusiveMaximum")),
    *(("exclusiveMinimum", "exclusiveMaximum"), ("minLength", "maxLength"), ("minItems", "maxItems")),
    ("minProperties", "maxProperties"),
)


def check_tree(tree: Tree, where: str) -> None:
    """Raises ContractError, which begins with `where`, when the tree is no dialect."""
    problems = problems_of(errors_of(_VALIDATOR, tree), DIALECT)
    if problems:
        raise ContractError(f"{where}: {problems[0].message}")
    for place, schema in _schemas(tree):
        try:
            jsonschema_rs.meta.validate({"$schema": DRAFT, **schema})
        except jsonschema_rs.ValidationError as error:
            broken = "/".join(map(str, (place, *error.instance_path)))
            raise ContractError(f"{where}: {broken}: no JSON Schema: {error.message}") from error
        for at, low, high in _empty_ranges(schema, place):
            raise ContractError(f"{where}: {at}: nothing lies between {low} and {high}: one of the two is wrong")


def _schemas(tree: Tree) -> Iterator[tuple[str, Any]]:
    for name, row in tree["parameters"].items():
        yield f"parameters/{name}/schema", row["schema"]
    for name, row in tree["rules"].items():
        if row.get("schema") is not None:
            yield f"rules/{name}/schema", row["schema"]
    for name, schema in tree["schemas"].items():
        yield f"schemas/{name}", schema
    yield "errors/schema", tree["errors"]["schema"]


def _empty_ranges(schema: Any, place: str) -> Iterator[tuple[str, str, str]]:
    """Every pair of ends between which nothing is: where, the lower end, the upper end."""
    if isinstance(schema, list):
        for at, item in enumerate(schema):
            yield from _empty_ranges(item, f"{place}/{at}")
    if not isinstance(schema, dict):
        return
    for low, high in ENDS:
        least, most = schema.get(low), schema.get(high)
        if isinstance(least, (int, float)) and isinstance(most, (int, float)):
            outside = low.startswith("exclusive") or high.startswith("exclusive")
            if least > most or (outside and least == most):
                yield place, f"{low} {least}", f"{high} {most}"
    for key, item in schema.items():
        yield from _empty_ranges(item, f"{place}/{key}")


def _object(needed: dict[str, Any], /, **optional: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(needed), "properties": {**needed, **optional}}


def _each(schema: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": schema}


def _record(cls: type[Any], **known: Any) -> dict[str, Any]:
    """The members of a frozen type, those without a default required and no others allowed."""
    needed = {field.name: known.get(field.name, {}) for field in fields(cls) if field.default is MISSING}
    others = {field.name: known.get(field.name, {}) for field in fields(cls) if field.default is not MISSING}
    return {**_object(needed, **others), "additionalProperties": False}


PARAMETER: Final = _object(
    {
        "summary": TEXT,
        "source": TEXT,
        "schema": OBJECT,
        "null_value": _object({"expect": EXPECT, "level": LEVEL}),
    },
    required={"type": "boolean"},
    levels=_each(LEVEL),
    probes={"type": "array", "items": _object({"value": True, "expect": EXPECT}, level=LEVEL)},
    neutral={"type": "array"},
    needs=OBJECT,
)
RULE: Final = _object(
    {"summary": TEXT, "source": TEXT}, level=LEVEL, trigger=TEXT, schema=OBJECT, broken=OBJECT, kept=OBJECT
)
ENDPOINT: Final = {"type": "string", "minLength": 1, "pattern": "^/"}
DIALECT: Final = _object(
    {
        "id": TEXT,
        "aliases": {"type": "array", "items": TEXT},
        "title": TEXT,
        "document": TEXT,
        "documents": _each(TEXT),
        "endpoint": _object({"path": ENDPOINT, "models_path": ENDPOINT}),
        "auth": _object({"scheme": {"enum": ["none", "bearer"]}}),
        "default_model": TEXT,
        "parameters": _each(PARAMETER),
        "rules": _each(RULE),
        "schemas": _each(OBJECT),
        "errors": _object(
            {"schema": OBJECT, "body": OBJECT, "kinds": _each(_record(ErrorKind, status={"type": "integer"}))}
        ),
        "answer": _record(AnswerForm, message=OBJECT, choice=OBJECT),
        "stream": _record(
            StreamForm,
            role={"enum": ["every-delta", "first-delta", "never"]},
            usage={"enum": ["with-finish", "on-request"]},
            full_text={"enum": ["optional", "never"]},
            stop_text={"enum": ["excluded", "included"]},
            key_order={"type": "array", "items": TEXT},
        ),
        "capabilities": _each(_object({"summary": TEXT, "source": TEXT, "assumed": {"type": "boolean"}})),
        "requirements": _each(_object({"keyword": LEVEL, "source": TEXT})),
    },
    unsupported={"type": "array", "items": TEXT},
    sentences={"type": "array", "items": _object({"id": TEXT, "says": TEXT, "source": TEXT, "keyword": LEVEL})},
)
_VALIDATOR: Final = jsonschema_rs.validator_for({"$schema": DRAFT, **DIALECT})
