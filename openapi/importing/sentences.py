"""State the facts that an import found as sentences of the document, in our own words."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.parameter import ABSENT
from openapi.schema.json_schema import dereference
from openapi.schema.notation import notation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.importing.interface import StatedField, StatedParameter
    from openapi.importing.stated_places import StatedPlaces
    from openapi.schema.json_schema import Schemas

VOWELS: Final = "aeiou"


def parameter_sentences(parameter: StatedParameter, schemas: Schemas, places: StatedPlaces) -> Iterator[dict[str, Any]]:
    """Yield sentences about the presence and the values of a parameter and of what is below it, as rows of `sentences`.

    places: where the keywords are in the dialect.
    """
    name = parameter.name
    at = f"parameters/{name}"
    if parameter.required and "required" not in parameter.silent:
        yield _row(f"{name}-required", f"{name} is required", name, [f"{at}/required"])
    elif parameter.default is not ABSENT and not parameter.required:
        value = json.dumps(parameter.default, ensure_ascii=False)
        yield _row(f"{name}-default", f"{name} is optional; its default is {value}", name, [f"{at}/default"])
    elif parameter.default_note:
        words = f"{name} is optional; its default is {parameter.default_note}"
        yield _row(f"{name}-default", words, name, [f"{at}/default_note"])
    null, at_null = (
        (" or null", [f"{at}/null_value"]) if parameter.nullable and "null" not in parameter.silent else ("", [])
    )
    if "schema" in parameter.silent:
        return
    if parameter.fields is None:
        values = notation(parameter.schema, schemas)
        if dereference(parameter.schema, schemas) and values != "anything":
            yield _row(
                f"{name}-value", f"{name} is {find_article(values)}{values}{null}", name, [f"{at}/schema", *at_null]
            )
        return
    for field in parameter.fields:
        yield from _field_sentences(field, name, places, (null, at_null) if field.path == name else ("", []))


def _field_sentences(
    field: StatedField, name: str, places: StatedPlaces, null: tuple[str, list[str]]
) -> Iterator[dict[str, Any]]:
    """Yield a sentence about the values of a parameter, or of a field or element below it, and one about its presence.

    null: what the first sentence says about null, and where.
    """
    identity = "-".join(re.findall(r"[A-Za-z0-9]+", field.path.replace("[]", ".item")))
    found = places.find_required(field.path) if field.required and field.path != name else []
    if found:
        yield _row(f"{identity}-required", f"{field.path} is required", name, found)
    found = places.find(field.path, field.keywords)
    kind = {} if {"type", "anyOf", "enum"} & set(field.values) else places.find_type(field.path)
    values = notation({**kind, **field.values}, {})
    if found:
        yield _row(
            f"{identity}-value", f"{field.path} is {find_article(values)}{values}{null[0]}", name, [*found, *null[1]]
        )


def _row(identity: str, says: str, name: str, places: list[str]) -> dict[str, Any]:
    home = places[0] if len(places) == 1 else places
    return {
        "id": identity.replace("_", "-"),
        "says": says,
        "source": f"#request/{name}",
        "keyword": "MUST",
        "home": {"schema": home},
    }


def find_article(values: str) -> str:
    """Return the article in front of a type, with a space; empty for values and several types."""
    if not values[:1].isalpha() or " or " in values:
        return ""
    return "an " if values[0] in VOWELS else "a "
