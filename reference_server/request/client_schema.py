"""JSON Schemas and other JSON of clients: bounded before anything is compiled, and never trusted to be well formed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from openapi.stream.strict_json import NOT_JSON, read_json
from reference_server.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]

MAX_DEPTH: Final = 64
"""Maximum nesting of objects and lists in a body, and in JSON text inside it. Documents need fewer than ten levels."""

MAX_FIELDS: Final = 4000
"""Fields and list items of one schema, about 2,000 properties.

The compiler's time grows with the square of the number of optional properties in one object: 0.5 s for 2,000.
"""

MAX_TOOL_FIELDS: Final = 20_000
"""Fields and list items of the schemas of all tools together, for which the compiler's time grows in proportion."""

MAX_SOURCE_LENGTH: Final = 65_536
"""Characters of a grammar or a regular expression; a longer one takes seconds to convert."""


def depth(value: object) -> int:
    """Return the nesting of objects and lists, or MAX_DEPTH + 1 if it is deeper."""
    levels = 0
    level: list[Any] = [value]
    while levels <= MAX_DEPTH:
        level = [item for item in level if isinstance(item, (dict, list))]
        if not level:
            break
        levels += 1
        level = [item for holder in level for item in (holder.values() if isinstance(holder, dict) else holder)]
    return levels


def read_nested_json(text: str) -> Any:
    """Return the value of JSON text that is a string of a request; NOT_JSON if it is invalid or nested too deeply."""
    if text.count("[") + text.count("{") > MAX_FIELDS * MAX_DEPTH:
        return NOT_JSON
    value = read_json(text).value
    return NOT_JSON if depth(value) > MAX_DEPTH else value


def require_few_fields(value: object, param: str, limit: int = MAX_FIELDS) -> None:
    """Raise ApiError if a value has more fields than can be compiled in a short time."""
    if not has_few_fields(value, limit):
        words = f"invalid {param}: a schema has more than {limit} fields: send fewer properties"
        raise ApiError("invalid_request", words, param=param)


def has_few_fields(value: object, limit: int = MAX_FIELDS) -> bool:
    """Return whether a value has at most `limit` fields and list items, at any depth.

    Lists of strings do not count: they are cheap, and the length of the whole grammar has a limit.
    """
    fields = 0
    pending = [value]
    while pending and fields <= limit:
        value = pending.pop()
        inner: Iterable[object] = ()
        if isinstance(value, dict):
            inner = value.values()
            fields += len(value)
        elif isinstance(value, list) and not all(isinstance(item, str) for item in value):
            inner = value
            fields += len(value)
        pending.extend(item for item in inner if isinstance(item, (dict, list)))
    return fields <= limit


def require_short_source(text: str, name: str, param: str) -> None:
    """Raise ApiError if a grammar or a regular expression is too long to be converted."""
    if len(text) > MAX_SOURCE_LENGTH:
        words = f"invalid {name}: expected at most {MAX_SOURCE_LENGTH} characters, got {len(text)}"
        raise ApiError("invalid_request", words, param=param)


def is_object_schema(schema: Json) -> bool:
    """Return whether the keywords of an object schema have the right types, as far as they are read one by one."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    return (
        isinstance(properties, dict)
        and all(isinstance(value, (dict, bool)) for value in properties.values())
        and isinstance(required, list)
        and all(isinstance(name, str) for name in required)
    )


def with_definitions(schema: Json | bool, definitions: Json) -> Json:
    """Return the schema of a property as a document of its own. A Boolean is a schema too: anything, or nothing."""
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    return {**schema, **definitions}


def dump(value: object) -> str:
    """Return a value as JSON text, with all characters as they are."""
    return json.dumps(value, ensure_ascii=False)
