"""Find and edit the JSON schemas of a request: those of its tools and of its response_format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.tool_recipes import functions_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest


def form_schema_of(sent: Json) -> Json | None:
    """Return the JSON schema of response_format, if there is one."""
    form = sent.get("response_format")
    named = form.get("json_schema") if isinstance(form, dict) else None
    schema = named.get("schema") if isinstance(named, dict) else None
    return schema if isinstance(schema, dict) else None


def form_type_of(sent: Json) -> Any:
    """Return the type of response_format, if there is one."""
    form = sent.get("response_format")
    return form.get("type") if isinstance(form, dict) else None


def schemas_of(sent: Json) -> Iterator[Json]:
    """Yield the schemas of a request, from the outermost of each."""
    yield from (
        function["parameters"] for function in functions_of(sent) if isinstance(function.get("parameters"), dict)
    )
    if (schema := form_schema_of(sent)) is not None:
        yield schema


def parts_of(schema: Any) -> Iterator[Json]:
    """Yield every object of a schema, at any depth."""
    if isinstance(schema, dict):
        yield schema
        for value in list(schema.values()):
            yield from parts_of(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from parts_of(value)


def drop_keywords(schema: Any, *keywords: str) -> None:
    """Remove keywords from a schema, at any depth."""
    for part in parts_of(schema):
        for keyword in keywords:
            part.pop(keyword, None)


def drop_everywhere(request: ServedRequest, *keywords: str) -> None:
    """Remove keywords from all schemas of a request."""
    for schema in schemas_of(request.payload):
        drop_keywords(schema, *keywords)
