"""Faults in whether the requested form is imposed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import choices_of, hooked_fault, message_of
from reference_server.faults.hooks import Refusal

if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest

STRUCTURED = ("structured_output",)
FORMS = ("response_format", "structured_outputs", "guided_json", "guided_regex", "guided_choice")


def has_forms(contract: Contract) -> bool:
    return "response_format" in contract.parameters and "structured_output" in contract.capabilities


def _forget(request: ServedRequest) -> None:
    for name in FORMS:
        request.payload.pop(name, None)


def _broken_when_streamed(answer: Json, request: ServedRequest) -> None:
    if any(request.body.find(name.encode()) >= 0 for name in FORMS):
        for choice in answer["choices"]:
            choice["message"]["content"] = "{}"


def has_form(request: ServedRequest) -> bool:
    form = request.payload.get("response_format")
    return isinstance(form, dict) and form.get("type") != "text"


def _fenced(answer: Json, request: ServedRequest) -> None:
    if has_form(request):
        for choice in answer["choices"]:
            choice["message"]["content"] = f"```json\n{choice['message']['content']}\n```"


def _fence_begun(chunk: Json, request: ServedRequest) -> None:
    for choice in chunk["choices"]:
        if has_form(request) and choice["delta"].get("content") and not request.state.get("begun"):
            request.state["begun"] = True
            choice["delta"]["content"] = f"```json\n{choice['delta']['content']}"


def _forget_outputs(request: ServedRequest) -> None:
    request.payload.pop("structured_outputs", None)


fenced_json = hooked_fault(
    "json-fenced",
    "Requested JSON is in a Markdown code fence.",
    answer=_fenced,
    applies_to=has_forms,
    declares=STRUCTURED,
    bugs=[108],
)
fenced_json_in_streams = hooked_fault(
    "json-fenced-in-streams",
    "Streamed JSON begins with a Markdown code fence.",
    chunk=_fence_begun,
    applies_to=has_forms,
    declares=STRUCTURED,
    bugs=[108],
)
outputs_ignored = hooked_fault(
    "structured-outputs-ignored",
    "`structured_outputs` is accepted and ignored.",
    request=_forget_outputs,
    applies_to=lambda contract: has_forms(contract) and "structured_outputs" in contract.parameters,
    declares=STRUCTURED,
    bugs=[108],
)
forms_ignored = hooked_fault(
    "forms-ignored",
    "A response_format is accepted and ignored.",
    request=_forget,
    applies_to=has_forms,
    declares=STRUCTURED,
    bugs=[108],
)
forms_kept_in_plain_answers = hooked_fault(
    "forms-kept-in-plain-answers",
    "The response_format is ignored in streams.",
    request=_forget,
    answer=_broken_when_streamed,
    applies_to=has_forms,
    declares=STRUCTURED,
    bugs=[108],
)


def _introduce(answer: Json, request: ServedRequest) -> None:
    form = request.payload.get("response_format")
    if isinstance(form, dict) and form.get("type") != "text" and request.payload.get("reasoning_effort"):
        for choice in choices_of(answer):
            message_of(choice)["content"] = f"So: {message_of(choice).get('content') or ''}"


forms_introduced = hooked_fault(
    "forms-introduced-while-thinking",
    "JSON that follows reasoning is introduced by a word.",
    answer=_introduce,
    applies_to=lambda contract: has_forms(contract) and "reasoning_effort" in contract.parameters,
    declares=(*STRUCTURED, "thinking"),
    bugs=[150],
)


def _forget_beside_choices(request: ServedRequest) -> None:
    if type(n := request.payload.get("n")) is int and n > 1:
        _forget(request)


forms_lost_beside_choices = hooked_fault(
    "forms-lost-beside-choices",
    "A response_format is ignored if several choices are requested.",
    request=_forget_beside_choices,
    applies_to=lambda contract: has_forms(contract) and "n" in contract.parameters,
    declares=STRUCTURED,
    bugs=[108],
)


def schema_of(request: ServedRequest) -> Any:
    """Return the schema that a request demands; None without one."""
    form = request.payload.get("response_format")
    named = form.get("json_schema") if isinstance(form, dict) else None
    return named.get("schema") if isinstance(named, dict) else None


def _refuse_definitions(request: ServedRequest) -> None:
    if "definitions" in (schema_of(request) or {}):
        raise Refusal("invalid_request", "response_format: unknown keyword definitions")


def drop_keywords(schema: Any, keywords: Container[str]) -> None:
    """Remove keywords from a schema, at any depth."""
    for name, value in list(schema.items()) if isinstance(schema, dict) else ():
        if name in keywords:
            del schema[name]
        else:
            drop_keywords(value, keywords)
    for value in schema if isinstance(schema, list) else ():
        drop_keywords(value, keywords)


definitions_refused = hooked_fault(
    "form-definitions-refused",
    "A response_format whose schema has `definitions` is refused.",
    request=_refuse_definitions,
    applies_to=has_forms,
    declares=STRUCTURED,
    bugs=[108],
)


def unread(name: str, line: str, *keywords: str) -> Fault:
    """Make a fault that ignores keywords of schemas."""
    return hooked_fault(
        name,
        line,
        request=lambda request: drop_keywords(schema_of(request), keywords),
        applies_to=has_forms,
        declares=STRUCTURED,
        bugs=[108],
    )


amounts_unread = unread(
    "form-amounts-ignored",
    "The number of elements in the schema of a response_format is ignored.",
    "minItems",
    "maxItems",
)
bounds_unread = unread(
    "form-bounds-ignored",
    "The bounds of numbers in the schema of a response_format are ignored.",
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
)
patterns_unread = unread(
    "form-patterns-ignored",
    "Patterns and formats in the schema of a response_format are ignored.",
    *("pattern", "format"),
)
