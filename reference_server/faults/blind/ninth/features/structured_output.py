"""Blind faults of structured output: parts of schemas that are ignored, and text that surrounds the JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reference_server.faults.blind.frame_recipes import calls_in
from reference_server.faults.blind.schema_recipes import form_schema_of, form_type_of, parts_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _forget_foreign_values(request: ServedRequest) -> None:
    """Know ASCII values only. Violates json_schema: the answer has one of the values."""
    for part in parts_of(form_schema_of(request.payload)):
        values = part.get("enum")
        if isinstance(values, list) and not json.dumps(values, ensure_ascii=False).isascii():
            del part["enum"]
            part.setdefault("type", "string")


def _reach_bounds(request: ServedRequest) -> None:
    """Read exclusive bounds as bounds. Violates json_schema: the answer matches the schema."""
    for part in parts_of(form_schema_of(request.payload)):
        for keyword, plain in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if isinstance(part.get(keyword), (int, float)):
                part.setdefault(plain, part.pop(keyword))


def _claim_calls(chunk: Json, request: ServedRequest) -> None:
    """Report the calls of a stream. Violates finish_reason: length at the limit."""
    request.state["called"] = request.state.get("called", False) or bool(calls_in(chunk))
    for choice in choices_of(chunk):
        if choice.get("finish_reason") == "length" and request.state["called"]:
            choice["finish_reason"] = "tool_calls"


def _add_remark(answer: Json, request: ServedRequest) -> None:
    """Let the model go on. Violates json_object: the answer is JSON."""
    if form_type_of(request.payload) == "json_object":
        for choice in choices_of(answer):
            said = message_of(choice)
            if said.get("content"):
                said["content"] = f"{said['content']}\n\nI hope this helps!"


def _lose_backslashes(request: ServedRequest) -> None:
    """Process an expression like source code. Violates structured_outputs.regex: the answer matches it."""
    outputs = request.payload.get("structured_outputs")
    if isinstance(outputs, dict) and isinstance(outputs.get("regex"), str):
        outputs["regex"] = outputs["regex"].replace("\\", "")


foreign_values_forgotten_in_forms = hooked_fault(
    "foreign-values-forgotten-in-forms",
    "An enumeration with non-ASCII values in the schema of response_format is ignored.",
    request=_forget_foreign_values,
    applies_to=has_parameters("response_format"),
)
exclusive_bounds_reached_in_forms = hooked_fault(
    "exclusive-bounds-reached-in-forms",
    "Numbers in answers with response_format may be equal to exclusiveMinimum and exclusiveMaximum.",
    request=_reach_bounds,
    applies_to=has_parameters("response_format"),
)
cut_calls_claimed_in_streams = hooked_fault(
    "cut-calls-claimed-in-streams",
    "A stream whose tool call the token limit cuts has the finish reason tool_calls.",
    chunk=_claim_calls,
    applies_to=has_parameters("tools"),
)
json_objects_remarked = hooked_fault(
    "json-objects-remarked",
    "With json_object, a sentence follows the JSON of a plain answer.",
    answer=_add_remark,
    applies_to=has_parameters("response_format"),
)
backslashes_in_expressions_lost = hooked_fault(
    "backslashes-in-expressions-lost",
    "The backslashes of structured_outputs.regex are ignored.",
    request=_lose_backslashes,
    applies_to=has_parameters("structured_outputs"),
)
