"""Blind faults in which something is left over from an earlier request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import is_whole, messages_of, per_server, text_length
from reference_server.faults.decorators import choices_of, has_parameters, message_of, wrapping_fault
from reference_server.faults.fault_middleware import FaultMiddleware
from reference_server.faults.hooks import Hooks
from reference_server.faults.http_gate import NOTICE_S, DisconnectCounter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGE: Final = 4_000  # characters
SILENT: Final = 2  # answers
LATER: Final = 2


def _remember_results() -> Hooks:
    histories: dict[str, list[Json]] = {}

    def change(request: ServedRequest) -> None:
        messages = messages_of(request.payload)
        if not messages:
            return
        first = str(messages[0].get("content"))
        if any(message.get("role") == "tool" for message in messages):
            histories[first] = messages
        elif len(messages) == 1 and first in histories:
            request.payload["messages"] = histories[first]

    return Hooks(request=change)


def _silent_after_large() -> Hooks:
    left = [0]

    def note(request: ServedRequest) -> None:
        if text_length(request.payload) > LARGE:
            left[0] = SILENT
        elif left[0]:
            left[0] -= 1
            request.state["silent"] = True

    def change(response: Json, request: ServedRequest) -> None:
        for choice in choices_of(response) if request.state.get("silent") else ():
            if message_of(choice).get("content"):
                message_of(choice)["content"] = ""

    return Hooks(request=note, answer=change, chunk=change)


def _continue_indexes() -> Hooks:
    served = [0]

    def change(chunk: Json, request: ServedRequest) -> None:
        for choice in choices_of(chunk):
            calls = message_of(choice).get("tool_calls") or ()
            if calls and "first" not in request.state:
                request.state["first"] = served[0]
                served[0] += 1
            for call in calls:
                call["index"] += request.state["first"]

    return Hooks(chunk=change)


def _keep_form() -> Hooks:
    kept: list[Any] = []

    def change(request: ServedRequest) -> None:
        form = request.payload.get("response_format")
        if isinstance(form, dict):
            kept[:] = [form] * LATER
        elif "response_format" not in request.payload and kept and not request.payload.get("tools"):
            request.payload["response_format"] = kept.pop()

    return Hooks(request=change)


def _keep_stop_ids() -> Hooks:
    kept: list[Any] = []

    def change(request: ServedRequest) -> None:
        ids = request.payload.get("stop_token_ids")
        if isinstance(ids, list) and ids and not kept:
            kept.append(ids)
        elif kept and not ids:
            request.payload["stop_token_ids"] = kept[0]

    return Hooks(request=change)


results_remembered = per_server(
    "results-remembered",
    "If the result of a tool was sent for a question before, the question is answered from it.",
    _remember_results,
    applies_to=has_parameters("tools"),
)
silent_after_a_large_prompt = per_server(
    "silent-after-a-large-prompt",
    "After a prompt of more than 4,000 characters, the next two answers are empty.",
    _silent_after_large,
)
call_indexes_continue = per_server(
    "call-indexes-continue",
    "The index of the first call in a stream is the number of earlier streams with calls.",
    _continue_indexes,
    applies_to=has_parameters("tools"),
)
forms_kept = per_server(
    "forms-kept",
    "A response_format also applies to the next two requests without one.",
    _keep_form,
    applies_to=has_parameters("response_format"),
)
first_stop_ids_kept = per_server(
    "first-stop-ids-kept",
    "The first stop_token_ids that a server gets apply to all later requests without any.",
    _keep_stop_ids,
    applies_to=has_parameters("stop_token_ids"),
)


@wrapping_fault("limits-lowered-by-a-disconnect", flaky=True)
def limits_are_lowered_by_a_disconnect(app: ASGIApp, contract: Contract) -> App:
    """After a client disconnects during a stream, the next answer has one token fewer than max_tokens."""
    seen = [0]

    def change(request: ServedRequest) -> None:
        if disconnects.count > seen[0] and is_whole(request.payload.get("max_tokens"), 2, 2**31 - 1):
            seen[0] = disconnects.count
            request.payload["max_tokens"] -= 1

    disconnects = DisconnectCounter(FaultMiddleware(app, contract, Hooks(request=change)))

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(NOTICE_S)
        await disconnects.serve(scope, receive, send)

    return serve
