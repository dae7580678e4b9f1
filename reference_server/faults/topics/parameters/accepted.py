"""Faults in which the server accepts or refuses the wrong parameter values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import fault, has_parameters, hooked_fault
from reference_server.faults.hooks import Refusal
from reference_server.faults.topics.structured.forms import STRUCTURED, has_forms
from reference_server.faults.topics.tools.calls import calls

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ResponseHead, ServedRequest


def _first_tool(request: ServedRequest) -> None:
    tools = request.payload.get("tools")
    if isinstance(tools, list) and "tool_choice" not in request.payload:
        request.payload["tools"] = tools[:1]


def _first_items(request: ServedRequest) -> None:
    for message in request.payload["messages"] if isinstance(request.payload.get("messages"), list) else ():
        if isinstance(message, dict) and isinstance(message.get("tool_calls"), list):
            message["tool_calls"] = message["tool_calls"][:1]


first_tool_judged = hooked_fault(
    "first-tool-judged",
    "Only the first of several tools is validated.",
    request=_first_tool,
    applies_to=has_parameters("tools"),
    declares=("tools",),
)
first_call_judged = hooked_fault(
    "first-call-judged",
    "Only the first of several calls in a message is validated.",
    request=_first_items,
    applies_to=has_parameters("tools"),
    declares=("tools",),
)


def _take_any(request: ServedRequest) -> None:
    if request.payload.get("tool_choice") == "any":
        request.payload["tool_choice"] = "auto"


foreign_choice_taken = hooked_fault(
    "tool-choice-of-other-vendors-taken",
    "The tool_choice `any` of other vendors is read as auto.",
    request=_take_any,
    applies_to=has_parameters("tool_choice"),
    declares=("tools",),
)


def _forget_several(request: ServedRequest) -> None:
    request.payload.pop("n", None)


lacking_n_taken = hooked_fault(
    "lacking-n-taken",
    "A server that declares no support for `n` accepts and ignores it.",
    request=_forget_several,
    applies_to=lambda contract: "n" in contract.capabilities,
    denies=("n",),
)


@fault("missing-messages-404", "refusal", bugs=[117])
def missing_messages_are_404(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """A request without messages gets a 500."""
    if request.payload and "messages" not in request.payload:
        head.status = 500
    return body


def _limit_demanded(request: ServedRequest) -> None:
    if request.payload:
        request.payload.setdefault("max_tokens", "none")


limit_demanded = hooked_fault(
    "limit-demanded",
    "A request without `max_tokens` is refused.",
    request=_limit_demanded,
    applies_to=has_parameters("max_tokens"),
    parameter="max_tokens",
)


def _refuse_null(request: ServedRequest) -> None:
    if request.payload.get("response_format", "") is None:
        raise Refusal("invalid_request", "response_format must not be null")


null_form_refused = hooked_fault(
    "null-form-refused",
    "`response_format: null` is refused.",
    request=_refuse_null,
    applies_to=has_forms,
    declares=STRUCTURED,
    bugs=[110],
)


def _refuse_null_content(request: ServedRequest) -> None:
    messages = request.payload.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("role") == "assistant" and message.get("content", "") is None:
            raise Refusal("invalid_request", "messages: content must not be null")


def _refuse_empty_content(request: ServedRequest) -> None:
    messages = request.payload.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("content") == "":
            raise Refusal("invalid_request", "messages: content must not be empty")


null_content_refused = hooked_fault(
    "null-content-refused",
    "An assistant message without content is refused.",
    request=_refuse_null_content,
    applies_to=calls,
    bugs=[94],
)


def _takes_empty_content(contract: Contract) -> bool:
    probes = contract.parameters["messages"].probes
    return any(probe.name == "content-empty" and probe.expect == "accept" for probe in probes)


empty_content_refused = hooked_fault(
    "empty-content-refused",
    "An empty content is refused.",
    request=_refuse_empty_content,
    bugs=[95],
    applies_to=_takes_empty_content,
)
