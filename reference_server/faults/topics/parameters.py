"""Faults in which the server accepts or refuses the wrong parameter values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import at_seams, fault, knows
from reference_server.faults.hooks import Refused
from reference_server.faults.topics.structured import STRUCTURED, has_forms
from reference_server.faults.topics.tools.calls import calls

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Head, Told


def _first_tool(told: Told) -> None:
    tools = told.sent.get("tools")
    if isinstance(tools, list) and "tool_choice" not in told.sent:
        told.sent["tools"] = tools[:1]


def _first_items(told: Told) -> None:
    for message in told.sent["messages"] if isinstance(told.sent.get("messages"), list) else ():
        if isinstance(message, dict) and isinstance(message.get("tool_calls"), list):
            message["tool_calls"] = message["tool_calls"][:1]


first_tool_judged = at_seams(
    "first-tool-judged", "Of several tools the first is read.", request=_first_tool, fits=knows("tools"),
    declares=("tools",),
)  # fmt: skip
first_call_judged = at_seams(
    "first-call-judged", "Of several calls in a message the first is read.", request=_first_items, fits=knows("tools"),
    declares=("tools",),
)  # fmt: skip


def _forget_several(told: Told) -> None:
    told.sent.pop("n", None)


lacking_n_taken = at_seams(
    "lacking-n-taken",
    "A server that says it has no `n` takes it, and ignores it.",
    request=_forget_several,
    fits=lambda contract: "n" in contract.capabilities,
    denies=("n",),
)


@fault("missing-messages-404", "refusal", bugs=[117])
def missing_messages_are_404(head: Head, body: Any, told: Told) -> Any:
    """A request without messages gets a 500."""
    if told.sent and "messages" not in told.sent:
        head.status = 500
    return body


def _limit_demanded(told: Told) -> None:
    if told.sent:
        told.sent.setdefault("max_tokens", "none")


limit_demanded = at_seams(
    "limit-demanded", "A request without `max_tokens` is refused.", request=_limit_demanded,
    fits=knows("max_tokens"), about="max_tokens",
)  # fmt: skip


def _refuse_null(told: Told) -> None:
    if told.sent.get("response_format", "") is None:
        raise Refused("invalid_request", "response_format must not be null")


null_form_refused = at_seams(
    "null-form-refused",
    "`response_format: null` is refused.",
    request=_refuse_null,
    fits=has_forms,
    declares=STRUCTURED,
    bugs=[110],
)


def _refuse_null_content(told: Told) -> None:
    messages = told.sent.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("role") == "assistant" and message.get("content", "") is None:
            raise Refused("invalid_request", "messages: content must not be null")


def _refuse_empty_content(told: Told) -> None:
    messages = told.sent.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("content") == "":
            raise Refused("invalid_request", "messages: content must not be empty")


null_content_refused = at_seams(
    "null-content-refused", "An assistant's message without content is refused.", request=_refuse_null_content,
    fits=calls, bugs=[94],
)  # fmt: skip


def _takes_empty_content(contract: Contract) -> bool:
    probes = contract.parameters["messages"].probes
    return any(probe.name == "content-empty" and probe.expect == "accept" for probe in probes)


empty_content_refused = at_seams(
    "empty-content-refused",
    "An empty content is refused.",
    request=_refuse_empty_content,
    bugs=[95],
    fits=_takes_empty_content,
)
