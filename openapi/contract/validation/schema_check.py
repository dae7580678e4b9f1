"""Check that a resolved tree has the structure of a dialect.

The check finds missing keys, values of a wrong type, unknown words, invalid JSON Schemas and empty ranges, and reports
the first problem in one line with its place. `loading` interprets the tree; the tests of this package check that the
data are consistent.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs

from openapi.contract.authority import Ground, Keyword
from openapi.contract.forms import AnswerForm, ErrorKind, StreamForm
from openapi.contract.tree.yaml_file import ContractError
from openapi.schema.excerpt import find_errors
from openapi.schema.problem import describe_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.tree.delta import Tree

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
STRING: Final = {"type": "string", "minLength": 1}
OBJECT: Final = {"type": "object"}
LEVEL: Final = {"enum": [str(keyword) for keyword in Keyword]}
GROUND: Final = {"enum": [str(ground) for ground in Ground]}
EXPECT: Final = {"enum": ["accept", "reject"]}
BOUNDS: Final = (
    *(("minimum", "maximum"), ("exclusiveMinimum", "maximum"), ("minimum", "exclusiveMaximum")),
    *(("exclusiveMinimum", "exclusiveMaximum"), ("minLength", "maxLength"), ("minItems", "maxItems")),
    ("minProperties", "maxProperties"),
)


def check_tree(tree: Tree, where: str) -> None:
    """Raise ContractError, with a message that begins with `where`, if the tree is not a valid dialect."""
    problems = describe_errors(find_errors(_VALIDATOR, tree), DIALECT)
    if problems:
        raise ContractError(f"{where}: {problems[0].message}", place=problems[0].where[1:])
    for place, schema in _schemas(tree):
        try:
            jsonschema_rs.meta.validate({"$schema": DRAFT, **schema})
        except jsonschema_rs.ValidationError as error:
            broken = "/".join(map(str, (place, *error.instance_path)))
            raise ContractError(f"{where}: {broken}: invalid JSON Schema: {error.message}") from error
        for at, low, high in _empty_ranges(schema, place):
            raise ContractError(f"{where}: {at}: empty range: no value satisfies {low} and {high}")


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
    """Yield the place, the lower bound and the upper bound of each range that contains no value."""
    if isinstance(schema, list):
        for at, item in enumerate(schema):
            yield from _empty_ranges(item, f"{place}/{at}")
    if not isinstance(schema, dict):
        return
    for low, high in BOUNDS:
        lower, upper = schema.get(low), schema.get(high)
        if isinstance(lower, (int, float)) and isinstance(upper, (int, float)):
            exclusive = low.startswith("exclusive") or high.startswith("exclusive")
            if lower > upper or (exclusive and lower == upper):
                yield place, f"{low} {lower}", f"{high} {upper}"
    for key, item in schema.items():
        yield from _empty_ranges(item, f"{place}/{key}")


def _object(mandatory: dict[str, Any], /, **optional: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(mandatory), "properties": {**mandatory, **optional}}


def _map_of(schema: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": schema}


def _record(cls: type[Any], **known: Any) -> dict[str, Any]:
    """Return the schema of a dataclass: fields without a default are required, other keys are not allowed."""
    required = {field.name: known.get(field.name, {}) for field in fields(cls) if field.default is MISSING}
    others = {field.name: known.get(field.name, {}) for field in fields(cls) if field.default is not MISSING}
    return {**_object(required, **others), "additionalProperties": False}


PARAMETER: Final = _object(
    {
        "summary": STRING,
        "source": STRING,
        "schema": OBJECT,
        "null_value": _object({"expect": EXPECT, "level": LEVEL}, source=STRING, ground=GROUND),
    },
    required={"type": "boolean"},
    levels=_map_of(LEVEL),
    origins=_map_of(STRING),
    ground=GROUND,
    probes={
        "type": "array",
        "items": _object({"value": True, "expect": EXPECT}, level=LEVEL, source=STRING, ground=GROUND),
    },
    neutral={"type": "array"},
    needs=OBJECT,
    needs_for=OBJECT,
)
RULE: Final = _object(
    {"summary": STRING, "source": STRING},
    level=LEVEL,
    kept_level=LEVEL,
    enforced={"type": "boolean"},
    ground=GROUND,
    trigger=STRING,
    schema=OBJECT,
    broken=OBJECT,
    kept=OBJECT,
)
CAPABILITY: Final = _object(
    {"summary": STRING, "source": STRING, "assumed": {"type": "boolean"}},
    conditions={"type": "array", "items": STRING, "minItems": 1},
)
ENDPOINT: Final = {"type": "string", "minLength": 1, "pattern": "^/"}
DIALECT: Final = _object(
    {
        "id": STRING,
        "aliases": {"type": "array", "items": STRING},
        "title": STRING,
        "document": STRING,
        "documents": _map_of(STRING),
        "endpoint": _object({"path": ENDPOINT, "models_path": ENDPOINT}),
        "auth": _object({"scheme": {"enum": ["none", "bearer"]}}),
        "default_model": STRING,
        "parameters": _map_of(PARAMETER),
        "rules": _map_of(RULE),
        "schemas": _map_of(OBJECT),
        "errors": _object(
            {"schema": OBJECT, "body": OBJECT, "kinds": _map_of(_record(ErrorKind, status={"type": "integer"}))},
            in_answers={"type": "boolean"},
        ),
        "answer": _record(AnswerForm, message=OBJECT, choice=OBJECT),
        "stream": _record(
            StreamForm,
            role={"enum": ["every-delta", "first-delta", "never"]},
            usage={"enum": ["with-finish", "on-request"]},
            full_text={"enum": ["optional", "never"]},
            stop_text={"enum": ["excluded", "included"]},
            key_order={"type": "array", "items": STRING},
        ),
        "capabilities": _map_of(CAPABILITY),
        "requirements": _map_of(_object({"keyword": LEVEL, "source": STRING}, ground=GROUND)),
    },
    unsupported={"type": "array", "items": STRING},
    sentences={"type": "array", "items": _object({"id": STRING, "says": STRING, "source": STRING, "keyword": LEVEL})},
)
_VALIDATOR: Final = jsonschema_rs.validator_for({"$schema": DRAFT, **DIALECT})
