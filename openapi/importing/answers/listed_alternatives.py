"""Tell which alternatives of an object a page describes when it lists or prints the fields of the object.

Requests may have the same alternatives, such as the calls of a function and of a custom tool. One that has a required
field of its own, which the page does not list, is another one than the page describes, and stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from openapi.schema.json_schema import Schema


def list_described(schemas: Mapping[str, Schema], names: Collection[str]) -> list[str]:
    """Return the places of the alternatives that a page describes.

    schemas: the alternatives by their places. names: the fields that the page lists.
    """
    return [place for place in schemas if not _has_own_field(place, schemas, names)]


def _has_own_field(place: str, schemas: Mapping[str, Schema], names: Collection[str]) -> bool:
    others = [schema for at, schema in schemas.items() if at != place]
    required = set(schemas[place].get("required", ())) - set(names)
    return bool(others) and any(not any(name in other.get("properties", {}) for other in others) for name in required)
