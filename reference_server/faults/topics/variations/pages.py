"""Variations that single documents allow: forms that a table or an example states, or that a document leaves open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi.contract.contract import Keyword
from reference_server.faults.decorators import choices_of, variation
from reference_server.faults.hooks import Refusal

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest


def _answers_with_errors(contract: Contract) -> bool:
    return contract.errors.in_answers


def _answer_instead(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """Return an answer with an empty text and `err_msg` in place of a refusal for the content of a request."""
    kinds = request.contract.errors.kinds
    if head.status not in {kinds[kind].status for kind in ("invalid_json", "invalid_request", "unknown_model")}:
        return body
    head.status = 200
    choice = {"index": 0, "message": {"role": "assistant", "content": ""}, "finish_reason": "stop"}
    return {
        "id": "endpoint_common_1",
        "object": "chat.completion",
        "created": 1767225600,
        "model": request.contract.default_model,
        "choices": [choice],
        "err_msg": str(body.get("message", body.get("error"))) if isinstance(body, dict) else "invalid request",
    }


def _streams_calls_without_reason(contract: Contract) -> bool:
    row = contract.requirements.get("finish.streamed-calls-end-with-tool-calls")
    return row is not None and row.keyword is Keyword.MAY


def _stop_instead_of_calls(chunk: Json, _request: ServedRequest) -> None:
    for choice in choices_of(chunk):
        if choice.get("finish_reason") == "tool_calls":
            choice["finish_reason"] = "stop"


def _takes_text_as_time(contract: Contract) -> bool:
    return "string" in contract.schemas["ChatCompletion"]["properties"]["created"]["type"]


def _time_as_text(answer: Json, _request: ServedRequest) -> None:
    if "created" in answer:
        answer["created"] = str(answer["created"])


def _refuse_streamed_choices(request: ServedRequest) -> None:
    number = request.payload.get("n")
    if request.payload.get("stream") is True and type(number) is int and number > 1:
        raise Refusal("invalid_request", "n must be 1 in a stream")


refused_in_an_answer = variation(
    "refused-in-an-answer",
    "A request that is refused gets status 200 and an err_msg in place of a response.",
    refusal=_answer_instead,
    applies_to=_answers_with_errors,
)
streamed_calls_end_with_stop = variation(
    "streamed-calls-end-with-stop",
    "A stream that calls a tool ends with stop.",
    chunk=_stop_instead_of_calls,
    applies_to=_streams_calls_without_reason,
)
created_as_text = variation(
    "created-as-text",
    "created is a string of digits.",
    answer=_time_as_text,
    chunk=_time_as_text,
    applies_to=_takes_text_as_time,
)
streams_of_one_choice = variation(
    "streams-of-one-choice",
    "A stream with several choices is refused.",
    request=_refuse_streamed_choices,
    applies_to=lambda contract: "choices-in-streams" in contract.rules,
)
