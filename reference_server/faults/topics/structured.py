"""Faults in structured output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import at_seams

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, Told

STRUCTURED = ("structured_output",)
FORMS = ("response_format", "structured_outputs", "guided_json", "guided_regex", "guided_choice")


def has_forms(contract: Contract) -> bool:
    return "response_format" in contract.parameters and "structured_output" in contract.capabilities


def _forget(told: Told) -> None:
    for name in FORMS:
        told.sent.pop(name, None)


def _broken_when_streamed(answer: Json, told: Told) -> None:
    if any(told.body.find(name.encode()) >= 0 for name in FORMS):
        for choice in answer["choices"]:
            choice["message"]["content"] = "{}"


def has_form(told: Told) -> bool:
    form = told.sent.get("response_format")
    return isinstance(form, dict) and form.get("type") != "text"


def _fenced(answer: Json, told: Told) -> None:
    if has_form(told):
        for choice in answer["choices"]:
            choice["message"]["content"] = f"```json\n{choice['message']['content']}\n```"


def _fence_begun(chunk: Json, told: Told) -> None:
    for choice in chunk["choices"]:
        if has_form(told) and choice["delta"].get("content") and not told.memory.get("begun"):
            told.memory["begun"] = True
            choice["delta"]["content"] = f"```json\n{choice['delta']['content']}"


def _forget_outputs(told: Told) -> None:
    told.sent.pop("structured_outputs", None)


fenced_json = at_seams(
    "json-fenced", "JSON that was asked for stands in a fence of Markdown.", answer=_fenced, fits=has_forms,
    declares=STRUCTURED, bugs=[108],
)  # fmt: skip
fenced_json_in_streams = at_seams(
    "json-fenced-in-streams", "JSON that was asked for begins with a fence of Markdown where it is streamed.",
    chunk=_fence_begun, fits=has_forms, declares=STRUCTURED, bugs=[108],
)  # fmt: skip
outputs_ignored = at_seams(
    "structured-outputs-ignored", "`structured_outputs` is taken and ignored.", request=_forget_outputs,
    fits=lambda contract: has_forms(contract) and "structured_outputs" in contract.parameters, declares=STRUCTURED,
    bugs=[108],
)  # fmt: skip
forms_ignored = at_seams(
    "forms-ignored",
    "A form of the answer is accepted and not kept.",
    request=_forget,
    fits=has_forms,
    declares=STRUCTURED,
    bugs=[108],
)
forms_kept_in_plain_answers = at_seams(
    "forms-kept-in-plain-answers",
    "Plain answers keep the form that was asked for, streams do not.",
    request=_forget,
    answer=_broken_when_streamed,
    fits=has_forms,
    declares=STRUCTURED,
    bugs=[108],
)
