"""Tell how binding it is that a server accepts a form of a parameter's schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.combinations.forms.schema_forms import ITEM, UNIONS, list_inner
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.plan.scenarios.combinations.forms.schema_forms import Form, SchemaForms
    from openapi.contract.contract import Parameter
    from openapi.schema.json_schema import Schema

STRENGTHS: Final = (Keyword.MAY, Keyword.SHOULD, Keyword.MUST)
NULLS: Final = (("type:null",), ("=null",))
MEDIA: Final = "media"
IMAGE: Final = "image"
USER: Final = "user"
INSTRUCTIONS: Final = frozenset(("system", "developer"))
"""Roles of which a conversation has one message, because templates may refuse more."""


def find_level(parameter: Parameter, form: Form, pointer: str, forms: SchemaForms) -> Keyword:
    """Return the requirement level for accepting a form.

    A value of an enum is as open as those that probes test. What is inside of a value is at most a SHOULD, and
    so is a value without effect of a parameter that the server lacks. A model may lack every kind of media but images
    in messages of the user, and a server what a mere id refers to.
    """
    path = list(_walk(form, pointer, forms))
    refers = any(_is_reference(schema) for schema in path) and form[-1:] not in NULLS
    is_media = parameter.capability == MEDIA or any(schema.get("x-capability") == MEDIA for schema in path)
    if refers or (is_media and not _is_image_of_user(path)):
        return Keyword.MAY
    is_inside = any(step.startswith((".", ITEM)) for step in form)
    is_null = not is_inside and form[-1:] in NULLS
    levels = [parameter.null.keyword if is_null else parameter.acceptance("enum")]
    if form and form[-1].startswith("=") and not is_null:
        levels += [probe.keyword for probe in parameter.probes if probe.expect == "accept" and not is_inside]
    if is_inside or parameter.lacking:
        levels.append(Keyword.SHOULD)
    return min(levels, key=STRENGTHS.index)


def is_instruction_in_one_text(form: Form, pointer: str, forms: SchemaForms) -> bool:
    """Return whether a form leads to the text of instructions that is not in parts."""
    roles = {_role(schema) for schema in _walk(form, pointer, forms)}
    return bool(roles & INSTRUCTIONS) and ITEM not in form[1:] and any(step.startswith(".content") for step in form)


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
