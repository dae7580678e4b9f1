"""Tell how binding it is that a server accepts a form of a parameter's schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openapi.contract.contract import Keyword
from openapi.description.schema_forms import ITEM, UNIONS, list_inner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Parameter
    from openapi.description.schema_forms import Form, SchemaForms
    from openapi.schema.json_schema import Schema

STRENGTHS: Final = (Keyword.MAY, Keyword.SHOULD, Keyword.MUST)
MEDIA: Final = "media"
IMAGE: Final = "image"
USER: Final = "user"


def find_level(parameter: Parameter, form: Form, pointer: str, forms: SchemaForms) -> Keyword:
    """Return the requirement level for accepting a form.

    A member of an enum is as open as those that probes test. What is inside of a value is at most a SHOULD. A model
    may lack every kind of media but images in messages of the user, and a server what a mere id refers to.
    """
    path = list(_walk(form, pointer, forms))
    refers = any(_is_reference(schema) for schema in path) and form[-1] != "type:null"
    is_media = parameter.capability == MEDIA or any(schema.get("x-capability") == MEDIA for schema in path)
    if refers or (is_media and not _is_image_of_user(path)):
        return Keyword.MAY
    if form and form[-1] in ("type:null", "=null") and len(form) == 1:
        return parameter.null.keyword
    is_inside = any(step.startswith((".", ITEM)) for step in form)
    levels = [parameter.acceptance("enum")]
    if form and form[-1].startswith("="):
        levels += [probe.keyword for probe in parameter.probes if probe.expect == "accept" and not is_inside]
    if is_inside:
        levels.append(Keyword.SHOULD)
    return min(levels, key=STRENGTHS.index)


def _walk(form: Form, pointer: str, forms: SchemaForms) -> Iterator[Schema]:
    """Yield the schemas through which a form leads."""
    pointer, schema = forms.resolve(pointer)
    yield schema
    for step in form:
        inner = dict(list_inner(schema, pointer)).get(step)
        if inner is None:
            return
        pointer, schema = forms.resolve(inner)
        yield schema


def _is_reference(schema: Schema) -> bool:
    """Return whether an object has nothing but the id of something that the server stores."""
    return schema.get("required") == ["id"] and schema.get("properties", {}).keys() == {"id"}


def _is_image_of_user(path: list[Schema]) -> bool:
    roles = [role for schema in path if (role := _role(schema)) is not None]
    return roles == [USER] and any(IMAGE in _list_kinds(schema) for schema in path)


def _role(schema: Schema) -> str | None:
    role: str | None = schema.get("properties", {}).get("role", {}).get("const")
    return role


def _list_kinds(schema: Any) -> set[str]:
    """Return the kinds of media in a schema that is not a union."""
    if not isinstance(schema, dict) or any(keyword in schema for keyword in UNIONS):
        return set()
    inner = (_list_kinds(field) for field in schema.get("properties", {}).values())
    return {schema["x-mediaKind"]} if "x-mediaKind" in schema else set().union(*inner)
