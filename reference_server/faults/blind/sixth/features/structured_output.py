"""Blind faults of structured output: parts of schemas that are lost, and text that is added to JSON or lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.schema_recipes import form_schema_of, parts_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

BRANCHES = ("anyOf", "oneOf")


def _form_type(sent: Json) -> Any:
    form = sent.get("response_format")
    return form.get("type") if isinstance(form, dict) else None


def _lose_beginning(chunk: Json, request: ServedRequest) -> None:
    """Skip a piece. Violates json_schema: the answer is JSON that matches the schema."""
    if _form_type(request.payload) != "json_schema":
        return
    for choice in choices_of(chunk):
        said, index = message_of(choice), str(choice.get("index"))
        if said.get("content") and index not in request.state:
            request.state[index] = True
            said["content"] = ""


def _open_references(request: ServedRequest) -> None:
    """Do not resolve references in branches. Violates json_schema: the answer matches the schema."""
    for part in parts_of(form_schema_of(request.payload)):
        for keyword in BRANCHES:
            branches = part.get(keyword)
            if isinstance(branches, list):
                part[keyword] = [{} if isinstance(branch, dict) and "$ref" in branch else branch for branch in branches]


def _fence(answer: Json, request: ServedRequest) -> None:
    """Add a code fence. Violates json_object: the answer is JSON."""
    if _form_type(request.payload) == "json_object":
        for choice in choices_of(answer):
            said = message_of(choice)
            said["content"] = f"```json\n{said.get('content') or ''}\n```"


def _ignore_choices(request: ServedRequest) -> None:
    """Lose the list in streams. Violates structured_outputs.choice: the answer is one of the strings."""
    outputs = request.payload.get("structured_outputs")
    if request.payload.get("stream") is True and isinstance(outputs, dict) and "choice" in outputs:
        del request.payload["structured_outputs"]


streamed_forms_lose_their_beginning = hooked_fault(
    "streamed-forms-lose-their-beginning",
    "With json_schema, the first piece of a stream is empty.",
    chunk=_lose_beginning,
    applies_to=has_parameters("response_format"),
)
references_in_branches_accept_anything = hooked_fault(
    "references-in-branches-accept-anything",
    "A reference inside anyOf or oneOf accepts any JSON in response_format.",
    request=_open_references,
    applies_to=has_parameters("response_format"),
)
json_objects_fenced = hooked_fault(
    "json-objects-fenced",
    "With json_object, a plain answer is a Markdown code block.",
    answer=_fence,
    applies_to=has_parameters("response_format"),
)
choice_lists_lost_in_streams = hooked_fault(
    "choice-lists-lost-in-streams",
    "A stream may contain other text than the strings in structured_outputs.choice.",
    request=_ignore_choices,
    applies_to=has_parameters("structured_outputs"),
)
