"""State the facts that an import found as sentences of the document, in our own words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.parameter import ABSENT
from openapi.schema.json_schema import dereference
from openapi.schema.notation import notation
from openapi.schema.server_limits import SERVER_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.importing.interface import StatedParameter
    from openapi.schema.json_schema import Schemas

VOWELS: Final = "aeiou"


def parameter_sentences(parameter: StatedParameter, schemas: Schemas) -> Iterator[dict[str, Any]]:
    """Yield a sentence about the presence of a parameter and one about its values, as rows of `sentences`."""
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
    stated = {key: value for key, value in parameter.schema.items() if key not in parameter.unstated}
    values = notation(stated, schemas)
    if "schema" in parameter.silent or not dereference(stated, schemas) or values == "anything":
        return
    null, places = (
        (" or null", [f"{at}/null_value"]) if parameter.nullable and "null" not in parameter.silent else ("", [])
    )
    homes = [f"{at}/schema/{key}" for key in stated if key != SERVER_LIMITS] if parameter.unstated else [f"{at}/schema"]
    yield _row(f"{name}-value", f"{name} is {_article(values)}{values}{null}", name, [*homes, *places])


def _row(identity: str, says: str, name: str, places: list[str]) -> dict[str, Any]:
    home = places[0] if len(places) == 1 else places
    return {
        "id": identity.replace("_", "-"),
        "says": says,
        "source": f"#request/{name}",
        "keyword": "MUST",
        "home": {"schema": home},
    }


def _article(values: str) -> str:
    if not values[:1].isalpha() or " or " in values:
        return ""
    return "an " if values[0] in VOWELS else "a "
