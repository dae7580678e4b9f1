"""Faults in reading the schemas of forms that clients generate: features that are refused, ignored, or fail."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import hooked_fault
from reference_server.faults.hooks import Refusal
from reference_server.faults.request_edits import failed
from reference_server.faults.topics.structured.forms import STRUCTURED, has_forms, schema_of, unread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

MOST_LEVELS: Final = 5
MOST_PROPERTIES: Final = 32
LONGEST_NAME: Final = 64
KNOWN_FORMATS: Final = ("date", "date-time", "time")
PLAIN_NAME: Final = re.compile(r"[\w$.-]+", re.ASCII)


def _parts(schema: Any) -> Iterator[Json]:
    """Yield every object of a schema, at any depth."""
    if isinstance(schema, dict):
        yield schema
    for item in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _parts(item)


def _names(schema: Any) -> Iterator[str]:
    """Yield the name of every property."""
    for part in _parts(schema):
        if isinstance(part.get("properties"), dict):
            yield from part["properties"]


def _levels(schema: Any) -> int:
    """Return how deep the properties of a schema are nested."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return 1 + max(map(_levels, properties.values()), default=0) if isinstance(properties, dict) else 0


def _has(*keywords: str) -> Callable[[Any], bool]:
    return lambda schema: any(keyword in part for part in _parts(schema) for keyword in keywords)


def _refused(name: str, line: str, unusual: Callable[[Any], bool]) -> Fault:
    """Make a fault that refuses a response_format whose schema is unusual."""

    def refuse(request: ServedRequest) -> None:
        schema = schema_of(request)
        if schema is not None and unusual(schema):
            raise Refusal("invalid_request", "response_format: unsupported schema")

    return hooked_fault(name, line, request=refuse, applies_to=has_forms, declares=STRUCTURED, bugs=[108])


def _failing(name: str, line: str, unusual: Callable[[Any], bool]) -> Fault:
    """Make a fault that fails at a response_format whose schema is unusual."""

    def fail(request: ServedRequest) -> CannedResponse | None:
        schema = schema_of(request)
        return failed(request) if schema is not None and unusual(schema) else None

    return hooked_fault(name, line, request=fail, applies_to=has_forms, declares=STRUCTURED, bugs=[108])


def _needs_no_word(contract: Contract) -> bool:
    return "structured.objects-without-the-word" in contract.requirements


def _refuse_wordless(request: ServedRequest) -> None:
    wanted = request.payload.get("response_format")
    is_object = isinstance(wanted, dict) and wanted.get("type") == "json_object"
    if is_object and "json" not in repr(request.payload.get("messages")).lower():
        raise Refusal("invalid_request", "messages: must contain the word 'json' in some form")


wordless_objects_refused = hooked_fault(
    "form-objects-without-the-word-refused",
    "A response_format of the type json_object is refused if no message has the word JSON.",
    request=_refuse_wordless,
    applies_to=_needs_no_word,
    declares=STRUCTURED,
    bugs=[108],
)
maps_refused = _refused(
    "form-maps-refused",
    "A response_format with a schema for additional properties is refused.",
    lambda schema: any(isinstance(part.get("additionalProperties"), dict) for part in _parts(schema)),
)
open_objects_refused = _refused(
    "form-open-objects-refused",
    "A response_format with an object that may have other properties is refused.",
    lambda schema: any("properties" in part and "additionalProperties" not in part for part in _parts(schema)),
)
optional_properties_refused = _refused(
    "form-optional-properties-refused",
    "A response_format is refused if required does not name all properties.",
    lambda schema: any(
        isinstance(part.get("properties"), dict) and set(part["properties"]) - set(part.get("required", ()))
        for part in _parts(schema)
    ),
)
type_lists_refused = _refused(
    "form-type-lists-refused",
    "A response_format with a list of types is refused.",
    lambda schema: any(isinstance(part.get("type"), list) for part in _parts(schema)),
)
depth_refused = _refused(
    "form-depth-refused",
    "A response_format whose objects are nested more than five deep is refused.",
    lambda schema: max((_levels(part) for part in _parts(schema)), default=0) > MOST_LEVELS,
)
wide_objects_refused = _refused(
    "form-wide-objects-refused",
    "A response_format with more than 32 properties in an object is refused.",
    lambda schema: any(len(part.get("properties") or ()) > MOST_PROPERTIES for part in _parts(schema)),
)
formats_refused = _refused(
    "form-formats-refused",
    "A response_format with another format than those of times is refused.",
    lambda schema: any(
        isinstance(part.get("format"), str) and part["format"] not in KNOWN_FORMATS for part in _parts(schema)
    ),
)
names_refused = _refused(
    "form-names-refused",
    "A response_format with a property whose name has a blank or other unusual characters is refused.",
    lambda schema: any(not PLAIN_NAME.fullmatch(name) for name in _names(schema)),
)
long_names_refused = _refused(
    "form-long-names-refused",
    "A response_format with a property whose name has more than 64 characters is refused.",
    lambda schema: any(len(name) > LONGEST_NAME for name in _names(schema)),
)
dialects_refused = _refused(
    "form-dialects-refused", "A response_format whose schema has $schema is refused.", _has("$schema")
)
discriminators_refused = _refused(
    "form-discriminators-refused", "A response_format with a discriminator is refused.", _has("discriminator")
)
notes_fail = _failing(
    "form-notes-fail", "A response_format with examples or deprecated gets a 500.", _has("examples", "deprecated")
)
empty_schemas_fail = _failing(
    "form-without-keywords-fails", "A response_format with an empty schema gets a 500.", lambda schema: not schema
)
constants_fail = _failing(
    "form-constants-fail",
    "A response_format with a constant that is not a string gets a 500.",
    lambda schema: any("const" in part and not isinstance(part["const"], str) for part in _parts(schema)),
)
tuples_unread = unread(
    "form-tuples-ignored", "The elements of a list of fixed length are ignored in a response_format.", "prefixItems"
)
sets_unread = unread("form-sets-ignored", "uniqueItems is ignored in a response_format.", "uniqueItems")


def _forget_references(request: ServedRequest) -> None:
    schema = schema_of(request)
    for name in ("$defs", "definitions"):
        for part in _parts(schema.get(name)) if isinstance(schema, dict) else ():
            part.pop("$ref", None)


inner_references_unread = hooked_fault(
    "form-inner-references-ignored",
    "In a response_format, references from one definition to another stand for any value.",
    request=_forget_references,
    applies_to=has_forms,
    declares=STRUCTURED,
    bugs=[108],
)
unions_unread = unread("form-unions-ignored", "Alternatives are ignored in a response_format.", "anyOf", "oneOf")


def _forget_other_roots(request: ServedRequest) -> None:
    schema = schema_of(request)
    if isinstance(schema, dict) and schema.get("type") not in (None, "object"):
        request.payload["response_format"]["json_schema"]["schema"] = {"type": "object"}


roots_become_objects = hooked_fault(
    "form-roots-become-objects",
    "A response_format whose schema has another type than object gets an object.",
    request=_forget_other_roots,
    applies_to=has_forms,
    declares=STRUCTURED,
    bugs=[108],
)


def has_outputs(contract: Contract) -> bool:
    """Apply to dialects with structured_outputs."""
    return has_forms(contract) and "structured_outputs" in contract.parameters


def _refuse_single_choices(request: ServedRequest) -> None:
    outputs = request.payload.get("structured_outputs")
    choices = outputs.get("choice") if isinstance(outputs, dict) else None
    if isinstance(choices, list) and len(choices) == 1 and not choices[0].isascii():
        raise Refusal("invalid_request", "structured_outputs: at least two choices are needed")


def _forget_grammars(request: ServedRequest) -> None:
    outputs = request.payload.get("structured_outputs")
    if isinstance(outputs, dict) and ("grammar" in outputs or outputs.get("json_object")):
        del request.payload["structured_outputs"]


single_choices_refused = hooked_fault(
    "single-choices-refused",
    "A choice in structured_outputs of one string that is not ASCII is refused.",
    request=_refuse_single_choices,
    applies_to=has_outputs,
    declares=STRUCTURED,
    bugs=[108],
)
grammars_ignored = hooked_fault(
    "output-grammars-ignored",
    "A grammar or json_object in structured_outputs is ignored.",
    request=_forget_grammars,
    applies_to=has_outputs,
    declares=STRUCTURED,
    bugs=[108],
)
