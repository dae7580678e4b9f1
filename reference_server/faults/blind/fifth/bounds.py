"""Blind faults of null values, and of the keywords of objects in schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import refusing, when
from reference_server.faults.blind.schema_recipes import drop_keywords, form_schema_of, parts_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest


def _has_null_options(sent: Json) -> bool:
    """Whether stream_options is null. The refusal violates stream_options, which may be null."""
    return "stream_options" in sent and sent["stream_options"] is None


def _has_closed_objects(sent: Json) -> bool:
    return any(part.get("additionalProperties") is False for part in parts_of(form_schema_of(sent)))


def _open_objects(request: ServedRequest) -> None:
    """Allow any property. Violates response_format: the answer is to match the schema."""
    drop_keywords(form_schema_of(request.payload), "additionalProperties")


def _optional_properties(sent: Json) -> Iterator[tuple[Json, str]]:
    for part in parts_of(form_schema_of(sent)):
        properties = part.get("properties")
        if isinstance(properties, dict) and part.get("additionalProperties") is not False:
            required = part["required"] if isinstance(part.get("required"), list) else ()
            yield from ((properties, name) for name in properties if name not in required and properties[name] != {})


def _has_optional_properties(sent: Json) -> bool:
    return any(True for _ in _optional_properties(sent))


def _free_optional_properties(request: ServedRequest) -> None:
    """Allow any value. Violates response_format: the answer is to match the schema."""
    for properties, name in list(_optional_properties(request.payload)):
        properties[name] = {}


null_stream_options_refused = when(
    "null-stream-options-refused",
    "`stream_options: null` is refused.",
    _has_null_options,
    refusing("stream_options: invalid type: null, expected struct StreamOptions"),
    applies_to=allows(stream=True, stream_options=None),
)
closed_objects_open_in_forms = when(
    "closed-objects-open-in-forms",
    "`additionalProperties: false` in a schema of response_format is ignored.",
    _has_closed_objects,
    _open_objects,
    applies_to=has_parameters("response_format"),
)
optional_properties_take_anything = when(
    "optional-properties-take-anything",
    "In a schema of response_format, optional properties of an open object may have any value.",
    _has_optional_properties,
    _free_optional_properties,
    applies_to=has_parameters("response_format"),
)
