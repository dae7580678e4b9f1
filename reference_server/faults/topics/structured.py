"""Faults in structured output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
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
