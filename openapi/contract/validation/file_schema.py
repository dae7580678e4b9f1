"""The JSON Schema of a dialect file outside this package, made from the key tables that the loader uses.

Editors complete and check a file by it, and the loader checks a file by it before anything else. The committed copy is
`openapi/dialect-file.schema.json`; `chatproof dialect schema` prints it.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs

from openapi.contract import loading
from openapi.contract.document import PinnedDocument
from openapi.contract.interpretations import KEYS as INTERPRETATION_KEYS
from openapi.contract.interpretations import REQUIRED as INTERPRETATION_REQUIRED
from openapi.contract.resolution import ADDED, DELTAS, IDENTITY, NO_DOCUMENT, OWN, is_path
from openapi.contract.tree.installed import DIALECTS, find_file
from openapi.contract.tree.scenario_keys import SCENARIO_KEYS, STEP_KEYS
from openapi.contract.tree.yaml_file import ContractError, locate_error, parse, read_text
from openapi.contract.validation import schema_check
from openapi.did_you_mean import suggest
from openapi.schema.excerpt import find_errors
from openapi.schema.problem import describe_errors

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from openapi.schema.json_schema import Schema

STRING: Final = schema_check.STRING
STRINGS: Final = {"type": "array", "items": STRING}
IDENTIFIER: Final = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$"}
SOURCE: Final = {"type": "string", "pattern": "^[^#]*#.+$", "description": "A place such as #request/top_k."}
NAME: Final = "[^/]+"


def make_file_schema() -> Schema:
    """Return the JSON Schema of a dialect file."""
    rows = {
        f"^parameters/{NAME}$": _row(loading.PARAMETER, _parameter_properties(), ("summary", "schema")),
        f"^parameters/{NAME}/null_value$": _null_value(),
        f"^parameters/{NAME}/probes/{NAME}$": _probe(),
        f"^(parameters|rules)/{NAME}/schema$": schema_check.OBJECT,
        f"^rules/{NAME}$": _row_of(loading.RULE, schema_check.RULE),
        f"^requirements/{NAME}$": _row_of(loading.REQUIREMENT, schema_check.DIALECT["properties"]["requirements"]),
        f"^requirements/{NAME}/keyword$": schema_check.LEVEL,
        f"^capabilities/{NAME}$": _row_of(loading.CAPABILITY, schema_check.CAPABILITY),
        f"^schemas/{NAME}$": schema_check.OBJECT,
    }
    properties: dict[str, Any] = {
        "id": {**IDENTIFIER, "description": "The name of the dialect in commands and reports."},
        "title": {**STRING, "description": "What the dialect is, in a few words."},
        "document": _document(),
        "extends": {**STRING, "description": "A built-in dialect, or the path of another file."},
        "aliases": STRINGS,
        "documents": {
            "type": "object",
            "additionalProperties": STRING,
            "description": "The documents of parts of the interface that the dialect's own does not state.",
        },
        "sentences": {"type": "array", "items": _sentence()},
        "interpretations": {"type": "object", "additionalProperties": _interpretation()},
        "scenarios": {"type": "array", "items": {"type": ["object", "string"], **_scenario()}},
        "checks": STRINGS,
        "todo": {"type": "array"},
        "add": {"type": "object", "patternProperties": rows, "description": "New paths, with their values."},
        "replace": {"type": "object", "patternProperties": rows, "description": "Existing paths, with new values."},
        "remove": {**STRINGS, "description": "Existing paths."},
    }
    own = {*IDENTITY, *OWN, *ADDED, *DELTAS}
    if own != set(properties):
        raise ContractError(f"the schema of dialect files lacks {sorted(own ^ set(properties))}")
    parts = dict.fromkeys(sorted(loading.DIALECT - loading.DERIVED - own), schema_check.OBJECT)
    return {
        "$schema": schema_check.DRAFT,
        "title": "A dialect file of chatproof",
        "type": "object",
        "required": list(IDENTITY),
        "properties": {**properties, **parts, "default_model": STRING, "unsupported": STRINGS},
        "additionalProperties": False,
    }


def check_files(path: Path) -> None:
    """Check a dialect file, and the files that it extends. Raises ContractError with the file and the line."""
    seen: set[Path] = set()
    while path not in seen and path.is_file():
        seen.add(path)
        content = parse(read_text(path), str(path))
        try:
            check_file(content, path)
        except ContractError as error:
            raise locate_error(error, [path]) from error
        parent = str(content.get("extends", ""))
        other = (path.parent / parent).resolve() if is_path(parent) else find_file(DIALECTS, parent)
        if other is None:
            return
        path = other


def check_file(content: Any, path: Path) -> None:
    """Raise ContractError for the first place at which the content of a file does not have its structure."""
    if not isinstance(content, dict):
        raise ContractError(f"{path}: invalid dialect: expected a mapping with id, title and document")
    known = FILE_SCHEMA["properties"]
    for key in content:
        if key not in known:
            expected, hint = ", ".join(known), suggest(str(key), known)
            raise ContractError(f"{path}: {key}: unknown key: expected one of {expected}{hint}")
    problems = describe_errors(find_errors(_VALIDATOR, content), FILE_SCHEMA)
    if problems:
        raise ContractError(f"{path}: {problems[0].message}", place=problems[0].where[1:])


def _row(known: Collection[str], typed: Mapping[str, Any], required: Collection[str]) -> Schema:
    """Return the schema of a row: its keys, and those that it must have unless it names a shape."""
    properties = {key: typed.get(key, True) for key in sorted({*known} - loading.DERIVED)}
    if "source" in properties:
        properties["source"] = SOURCE
    return {
        "type": "object",
        "properties": {**properties, "shape": {"type": ["string", "array"]}},
        "additionalProperties": False,
        "if": {"not": {"required": ["shape"]}},
        "then": {"required": sorted(required)},
    }


def _row_of(known: Collection[str], typed: Schema) -> Schema:
    schema = typed.get("additionalProperties") or typed
    return _row(known, schema["properties"], schema["required"])


def _parameter_properties() -> dict[str, Any]:
    typed: dict[str, Any] = schema_check.PARAMETER["properties"]
    return {**typed, "null_value": _null_value(), "probes": {"type": "array", "items": _probe()}}


def _null_value() -> Schema:
    typed = schema_check.PARAMETER["properties"]["null_value"]
    return _row(loading.NULL_VALUE, typed["properties"], typed["required"])


def _probe() -> Schema:
    typed = schema_check.PARAMETER["properties"]["probes"]["items"]
    return _row(loading.PROBE, typed["properties"], typed["required"])


def _sentence() -> Schema:
    typed = schema_check.DIALECT["properties"]["sentences"]["items"]
    home = dict.fromkeys(sorted(loading.HOME | loading.EXCLUSION), True)
    schema = _row(loading.SENTENCE, typed["properties"], typed["required"])
    schema["properties"]["home"] = {"type": "object", "properties": home, "additionalProperties": False}
    return schema


def _interpretation() -> Schema:
    typed = {"where": STRINGS, "ground": schema_check.GROUND, **dict.fromkeys(INTERPRETATION_REQUIRED, STRING)}
    return _row(INTERPRETATION_KEYS, typed, INTERPRETATION_REQUIRED)


def _document() -> Schema:
    pinned = fields(PinnedDocument)
    return {
        "description": f"The page that states the facts, the word {NO_DOCUMENT}, or a document of this package.",
        "type": ["object", "string"],
        "properties": {field.name: {"type": "string"} for field in pinned}
        | {"retrieved": {"description": "The date on which the page was read."}}
        | {"sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$", "description": "Of the bytes of the page."}},
        "required": [field.name for field in pinned if field.default is MISSING],
        "additionalProperties": False,
    }


def _scenario() -> Schema:
    step = {"type": "object", "properties": dict.fromkeys(sorted(STEP_KEYS), True), "additionalProperties": False}
    typed = {"id": STRING, "summary": STRING, "steps": {"type": "array", "items": step, "minItems": 1}}
    schema = _row(SCENARIO_KEYS, typed, ("id", "summary", "steps"))
    return {"properties": schema["properties"], "required": sorted(typed), "additionalProperties": False}


FILE_SCHEMA: Final = make_file_schema()
_VALIDATOR: Final = jsonschema_rs.validator_for(FILE_SCHEMA)
