"""Which fields of requests a requirement is about, and whether a schema has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi.schema.json_schema import dereference

if TYPE_CHECKING:
    from openapi.schema.json_schema import Schema, Schemas


def list_request_steps(source: str) -> list[str]:
    """Return `messages`, `name` for a source such as `openai-api#request/messages/name`; one empty step otherwise."""
    kind, *steps = source.partition("#")[2].split("/")
    return steps if kind == "request" and steps else [""]


def has_field(schema: Schema, steps: list[str], schemas: Schemas) -> bool:
    """Return whether a value of a schema, or an element of it, may have a field; unknown fields do not count."""
    whole = dereference(schema, schemas)
    inner = [branch for key in ("anyOf", "oneOf", "allOf") for branch in whole.get(key, ())]
    inner += [whole["items"]] if isinstance(whole.get("items"), dict) else []
    if not steps:
        return True
    fields = whole.get("properties", {})
    if steps[0] in fields and has_field(fields[steps[0]], steps[1:], schemas):
        return True
    return any(has_field(branch, steps, schemas) for branch in inner)
