"""A form of the answer that is asked for and not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.seams import Refused, at_seams

if TYPE_CHECKING:
    from openapi.contract import Contract
    from reference_server.faults.seams import Json, Told

STRUCTURED = ("structured_output",)
FORMS = ("response_format", "structured_outputs", "guided_json", "guided_regex", "guided_choice")


def _has_forms(contract: Contract) -> bool:
    return "response_format" in contract.parameters and "structured_output" in contract.capabilities


def _refuse_null(told: Told) -> None:
    if told.sent.get("response_format", "") is None:
        raise Refused("invalid_request", "response_format must not be null")


null_form_refused = at_seams(
    "null-form-refused",
    "`response_format: null` is refused.",
    request=_refuse_null,
    fits=_has_forms,
    declares=STRUCTURED,
    bugs=[110],
)


def _forget(told: Told) -> None:
    for name in FORMS:
        told.sent.pop(name, None)


def _broken_when_streamed(answer: Json, told: Told) -> None:
    if any(told.body.find(name.encode()) >= 0 for name in FORMS):
        for choice in answer["choices"]:
            choice["message"]["content"] = "{}"


forms_ignored = at_seams(
    "forms-ignored",
    "A form of the answer is accepted and not kept.",
    request=_forget,
    fits=_has_forms,
    declares=STRUCTURED,
    bugs=[108],
)
forms_kept_in_plain_answers = at_seams(
    "forms-kept-in-plain-answers",
    "Plain answers keep the form that was asked for, streams do not.",
    request=_forget,
    answer=_broken_when_streamed,
    fits=_has_forms,
    declares=STRUCTURED,
    bugs=[108],
)
