"""Blind faults of refusals and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from openapi.description.validation import Validator
from openapi.stream import sse
from reference_server.faults.blind.recipes import messages_of, refusing, when
from reference_server.faults.decorators import has_parameters, hooked_fault, wrapping_fault
from reference_server.faults.fault_middleware import (
    is_chat_request,
    parse_object,
    read_body,
    replay_body,
    with_length,
)
from reference_server.faults.http_gate import header_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

KEY = b"authorization"


def _other_model(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    model = request.payload.get("model")
    if isinstance(model, str) and model != request.contract.default_model:
        head.status = 200
    return body


def _failed_form(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    if isinstance(request.payload.get("response_format"), dict):
        head.status = 500
    return body


def _as_event(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    if request.payload.get("stream") is True:
        head.headers["content-type"] = sse.MEDIA_TYPE
        return sse.encode(orjson.dumps(body))
    return body


def _in_quotes(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _in_quotes(item) for name, item in value.items()}
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _has_number(contract: Contract) -> bool:
    _, body = contract.errors.render("invalid_request", "message")
    return bool(_in_quotes(body) != body)


def _was_silent(sent: Json) -> bool:
    return any(message.get("role") == "assistant" and message.get("content") == "" for message in messages_of(sent))


def _takes_silent_turns(contract: Contract) -> bool:
    roles = {"user": "Hello", "assistant": ""}
    history = [{"role": role, "content": content} for role, content in (*roles.items(), ("user", "Hello"))]
    return not Validator(contract).request_problems({"model": contract.default_model, "messages": history})


unknown_models_get_200 = hooked_fault(
    "unknown-models-get-200", "A request for an unknown model is refused with status 200.", refusal=_other_model
)
bad_forms_fail = hooked_fault(
    "bad-forms-fail",
    "A response_format that cannot be used gets a 500.",
    refusal=_failed_form,
    applies_to=has_parameters("response_format"),
)
streams_refused_as_events = hooked_fault(
    "streams-refused-as-events",
    "The refusal of a stream is an event with the content type of streams.",
    refusal=_as_event,
)
codes_in_quotes = hooked_fault(
    "codes-in-quotes",
    "Numbers in refusals are strings.",
    refusal=lambda _head, body, _request: _in_quotes(body),
    applies_to=_has_number,
)
silent_turns_refused = when(
    "silent-turns-refused",
    "A history with an empty assistant message is refused.",
    _was_silent,
    refusing("invalid assistant message"),
    applies_to=_takes_silent_turns,
)


@wrapping_fault("bad-forms-ignored", applies_to=has_parameters("response_format"))
def bad_forms_are_ignored(app: ASGIApp, contract: Contract) -> App:
    """If a response_format cannot be used, the request is answered without it."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        body = await read_body(receive)
        refused = [False]

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                refused[0] = message["status"] in (400, 412, 422)
            if not refused[0]:
                await send(message)

        sent_fields = parse_object(body)
        form = sent_fields.pop("response_format", None)
        await app(scope, replay_body(body, receive), sent if isinstance(form, dict) else send)
        if refused[0]:
            body = orjson.dumps(sent_fields)
            await app(with_length(scope, len(body)), replay_body(body, receive), send)

    return serve


@wrapping_fault("keys-checked-once", applies_to=lambda contract: contract.auth == "bearer")
def keys_are_checked_once(app: ASGIApp, _contract: Contract) -> App:
    """After a request with a correct key, every key is accepted on the same connection."""
    known: dict[Any, bytes] = {}

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        client = tuple(scope["client"] or ())
        headers = [pair for pair in scope["headers"] if pair[0] != KEY]

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200 and header_of(scope, KEY):
                known.setdefault(client, header_of(scope, KEY))
            await send(message)

        if client in known:
            await app({**scope, "headers": [*headers, (KEY, known[client])]}, receive, send)
        else:
            await app(scope, receive, sent)

    return serve
