"""Forms of a schema are listed, and found in values."""

from __future__ import annotations

from typing import Any, Final

import pytest

from conformance.plan.scenarios.combinations.forms.schema_forms import SchemaForms
from openapi.contract.contract import load, names
from openapi.description.description import REQUEST, describe
from openapi.schema.json_schema import REFERENCE

DOCUMENT: Final[dict[str, Any]] = {
    "components": {
        "schemas": {
            "Part": {
                "type": "object",
                "required": ["kind"],
                "properties": {
                    "kind": {"enum": ["a", 1, None]},
                    "size": {"type": ["integer", "null"]},
                    "parts": {"type": "array", "items": {"$ref": f"{REFERENCE}Part"}},
                },
                "additionalProperties": {"type": "string"},
            },
            "Any": {"oneOf": [{"type": "string"}, {"$ref": f"{REFERENCE}Part"}]},
        }
    }
}
ANY: Final = f"{REFERENCE}Any"


def test_every_branch_member_type_and_field_is_listed_once_though_a_schema_is_in_itself() -> None:
    listed = ["".join(form) for form in SchemaForms(DOCUMENT).list_forms(ANY)]
    part = "oneOf[1]"
    assert listed == [
        "oneOf[0]",
        part,
        f"{part}.kind",
        f'{part}.kind="a"',
        f"{part}.kind=1",
        f"{part}.kind=null",
        f"{part}.size",
        f"{part}.sizetype:integer",
        f"{part}.sizetype:null",
        f"{part}.parts",
        f"{part}.parts[]",
        f"{part}.*",
    ]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("text", {"oneOf[0]"}),
        (7, set()),
        ({"kind": True}, set()),
        ({"kind": 1, "size": 2.0}, {"", ".kind", ".kind=1", ".size", ".sizetype:integer"}),
        ({"kind": None, "more": "x"}, {"", ".kind", ".kind=null", ".*"}),
        (
            {"kind": "a", "parts": [{"kind": 1}]},
            {"", ".kind", '.kind="a"', ".parts", ".parts[]", ".parts[].kind", ".parts[].kind=1"},
        ),
    ],
)
def test_the_forms_of_a_value_are_those_that_it_has(value: Any, found: set[str]) -> None:
    forms = {"".join(form) for form in SchemaForms(DOCUMENT).find_forms(ANY, value)}
    assert forms == (found if isinstance(value, str) else {f"oneOf[1]{form}" for form in found})


@pytest.mark.parametrize("dialect", sorted(set(names().values())))
def test_forms_of_the_examples_of_a_dialect_are_listed_forms(dialect: str) -> None:
    document = describe(load(dialect))
    forms = SchemaForms(document)
    for name, schema in document["components"]["schemas"][REQUEST]["properties"].items():
        pointer = f"{REFERENCE}{REQUEST}/properties/{name}"
        listed = set(forms.list_forms(pointer))
        for example in schema.get("examples", ()):
            assert forms.find_forms(pointer, example) - listed == set()
