"""Blind faults of refusals: keys that are shown, bodies that are failures, and earlier calls that are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.faults.blind.body_recipes import with_message
from reference_server.faults.blind.recipes import messages_of, per_server, refusing, when
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of, wrapping_fault
from reference_server.faults.hooks import Hooks, Refusal
from reference_server.faults.http_gate import header_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest
    from reference_server.faults.http_gate import App

UNAUTHORIZED: Final = 401
REFUSED: Final = 400
FAILED: Final = 500
LENGTH: Final = b"content-length"


@wrapping_fault("keys-shown-in-refusals", applies_to=lambda contract: contract.auth == "bearer")
def keys_shown_in_refusals(app: ASGIApp, _contract: Contract) -> App:
    """The refusal of a key quotes the whole key, so that logs of clients contain it."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        key = header_of(scope, b"authorization").decode("latin-1").rpartition(" ")[2]
        held: list[Message] = []

        async def send_with_key(message: Message) -> None:
            held.append(message)
            if held[0]["status"] != UNAUTHORIZED or not key:
                await send(message)
            elif message["type"] == "http.response.body" and not message.get("more_body"):
                refusal = orjson.loads(b"".join(part.get("body", b"") for part in held))
                body = orjson.dumps(with_message(refusal, lambda text: f"{text}: {key}"))
                others = [pair for pair in held[0]["headers"] if pair[0].lower() != LENGTH]
                await send({**held[0], "headers": [*others, (LENGTH, str(len(body)).encode())]})
                await send({"type": "http.response.body", "body": body})

        await app(scope, receive, send_with_key)

    return serve


def _fail_for_lists(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """Read fields of a list. Violates the status of a refusal, which says what is wrong."""
    if request.body.lstrip().startswith(b"[") and REFUSED <= head.status < FAILED:
        head.status = FAILED
    return body


def _calls_of_history(sent: Json) -> Iterator[Json]:
    for message in messages_of(sent):
        calls = message.get("tool_calls")
        yield from (call for call in calls if isinstance(call, dict)) if isinstance(calls, list) else ()


def _has_calls_without_tools(sent: Json) -> bool:
    return any(True for _ in _calls_of_history(sent)) and not sent.get("tools")


def _know_own_calls() -> Hooks:
    """Look up calls in a store. Violates tool_calls of messages: the history of any conversation."""
    issued: set[Any] = set()

    def note(response: Json, _request: ServedRequest) -> None:
        for choice in choices_of(response):
            issued.update(call.get("id") for call in message_of(choice).get("tool_calls") or ())

    def refuse(request: ServedRequest) -> None:
        unknown = [call.get("id") for call in _calls_of_history(request.payload) if str(call.get("id")) not in issued]
        if unknown:
            raise Refusal("invalid_request", f"unknown tool call {unknown[0]}")

    return Hooks(request=refuse, answer=note, chunk=note)


lists_as_bodies_are_failures = hooked_fault(
    "lists-as-bodies-are-failures", "A body that is a JSON array gets a 500.", refusal=_fail_for_lists
)
# Violates tools, which are optional in every turn.
past_calls_without_tools_refused = when(
    "past-calls-without-tools-refused",
    "A conversation with earlier tool calls is refused if the request has no tools.",
    _has_calls_without_tools,
    refusing("tools must be set if messages contain tool calls"),
    applies_to=has_parameters("tools"),
)
foreign_calls_refused = per_server(
    "foreign-calls-refused",
    "Earlier tool calls are refused if this server has not issued their ids.",
    _know_own_calls,
    applies_to=has_parameters("tools"),
)
