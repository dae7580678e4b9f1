"""Blind faults of structured output: missing fields, JSON that is sent twice or not at all, and open patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import every, per_server
from reference_server.faults.blind.schema_recipes import form_schema_of, form_type_of, parts_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

LISTS = ("items", "anyOf", "oneOf")
EMPTY_EVERY = 4


def _drop_nested_required(request: ServedRequest) -> None:
    """Require fields at the top only. Violates json_schema: the answer matches the schema."""
    for part in parts_of(form_schema_of(request.payload)):
        for keyword in LISTS:
            for nested in parts_of(part.get(keyword)):
                nested.pop("required", None)


def _repeat_json(chunk: Json, request: ServedRequest) -> None:
    """Send the whole text again. Violates json_schema: the answer is one JSON value."""
    if form_type_of(request.payload) != "json_schema":
        return
    for choice in choices_of(chunk):
        said, index = message_of(choice), str(choice.get("index"))
        text = request.state.get(index, "") + (said.get("content") or "")
        request.state[index] = text
        if choice.get("finish_reason") == "stop" and text:
            said["content"] = (said.get("content") or "") + text


def _make_empty() -> Hooks:
    """Lose the text now and then. Violates json_object: the answer is JSON."""
    is_turn = every(EMPTY_EVERY)

    def empty(answer: Json, request: ServedRequest) -> None:
        if form_type_of(request.payload) == "json_object" and is_turn():
            for choice in choices_of(answer):
                message_of(choice)["content"] = ""

    return Hooks(answer=empty)


def _open_expression(request: ServedRequest) -> None:
    """Match a beginning. Violates structured_outputs.regex: the whole answer matches the expression."""
    outputs = request.payload.get("structured_outputs")
    if isinstance(outputs, dict) and isinstance(outputs.get("regex"), str):
        outputs["regex"] = f"({outputs['regex']})[a-z ]{{0,20}}"


nested_fields_optional_in_lists = hooked_fault(
    "nested-fields-optional-in-lists",
    "Required fields of objects inside lists and branches may be missing in answers with response_format.",
    request=_drop_nested_required,
    applies_to=has_parameters("response_format"),
)
json_repeated_at_the_end_of_streams = hooked_fault(
    "json-repeated-at-the-end-of-streams",
    "With json_schema, a stream that ends on its own has the whole text twice.",
    chunk=_repeat_json,
    applies_to=has_parameters("response_format"),
)
every_fourth_json_object_empty = per_server(
    "every-fourth-json-object-empty",
    "With json_object, every fourth plain answer is empty.",
    _make_empty,
    applies_to=has_parameters("response_format"),
)
expressions_match_beginnings = hooked_fault(
    "expressions-match-beginnings",
    "Text may follow what structured_outputs.regex matches.",
    request=_open_expression,
    applies_to=has_parameters("structured_outputs"),
)
