"""Blind faults of HTTP and JSON: another status, other names of fields, and headers that lead to refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.faults.decorators import hooked_fault, wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.hooks import CannedResponse
from reference_server.faults.http_gate import answer_matching, header_of, refuse_matching

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Scope

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest
    from reference_server.faults.http_gate import App

SUCCESS: Final = 200
CREATED: Final = 201
NOT_ACCEPTABLE: Final = 406
ORGANISATION: Final = b"openai-organization"


def _say_created(head: ResponseHead, _request: ServedRequest) -> None:
    """Send what a framework sends for POST. Violates the status of an answer, which is 200."""
    if head.status == SUCCESS and not head.streams:
        head.status = CREATED


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _in_camel_case(value: Any) -> Any:
    if isinstance(value, dict):
        return {_camel(name): _in_camel_case(item) for name, item in value.items()}
    return [_in_camel_case(item) for item in value] if isinstance(value, list) else value


def _rename_usage(response: Json, _request: ServedRequest) -> None:
    """Write fields like the classes of a program. Violates usage, whose fields have underscores."""
    if isinstance(response.get("usage"), dict):
        response["usage"] = _in_camel_case(response["usage"])


@wrapping_fault("organisations-refused", applies_to=lambda contract: contract.auth == "bearer")
def organisations_refused(app: ASGIApp, contract: Contract) -> App:
    """A request with a header that names an organisation, as clients of OpenAI send it, is refused with 401."""
    status, body = contract.errors.render("invalid_key", "unknown organisation")
    refused = CannedResponse(status, orjson.dumps(body))
    return answer_matching(app, lambda scope: bool(header_of(scope, ORGANISATION)), refused)


@wrapping_fault("lists-of-media-types-refused")
def lists_of_media_types_refused(app: ASGIApp, contract: Contract) -> App:
    """A request whose Accept field lists several media types is refused with 406, although JSON is one of them."""

    def lists(scope: Scope) -> bool:
        return is_chat_request(scope, contract) and b"," in header_of(scope, b"accept")

    return refuse_matching(app, contract, lists, NOT_ACCEPTABLE)


plain_answers_have_status_201 = hooked_fault(
    "plain-answers-have-status-201", "Plain answers have the status 201.", head=_say_created
)
usage_in_camel_case = hooked_fault(
    "usage-in-camel-case",
    "The fields of the usage have capitals in place of underscores, such as promptTokens.",
    answer=_rename_usage,
    chunk=_rename_usage,
)
