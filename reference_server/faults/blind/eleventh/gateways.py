"""Blind faults of gateways: replicas without keys or with other counts, dates of models, and wrapped answers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.gateway_recipes import models_fault, replica_fault
from reference_server.faults.blind.recipes import every, messages_of
from reference_server.faults.decorators import hooked_fault, wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.http_gate import header_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest
    from reference_server.faults.http_gate import App

KEY: Final = b"authorization"
SUCCESS: Final = 200
WRAPPED: Final = b'{"code":0,"msg":"success","data":%b}'


@wrapping_fault("second-replica-needs-no-key", applies_to=lambda contract: contract.auth == "bearer")
def second_replica_needs_no_key(app: ASGIApp, contract: Contract) -> App:
    """One of two replicas, which answers every other request, accepts every key once it has answered a valid one."""
    is_turn = every(2)
    valid: list[bytes] = []

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        key = header_of(scope, KEY)
        is_open = is_turn()

        async def send_and_note(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == SUCCESS and not is_open:
                valid[:] = [key]
            await send(message)

        if is_open and valid:
            others = [pair for pair in scope["headers"] if pair[0] != KEY]
            scope = {**scope, "headers": [*others, (KEY, valid[0])]}
        await app(scope, receive, send_and_note)

    return serve


def _count_words(response: Json, request: ServedRequest) -> None:
    """Count with another tokenizer. Violates prompt_tokens: equal prompts have equal numbers."""
    usage = response.get("usage")
    if isinstance(usage, dict) and isinstance(usage.get("prompt_tokens"), int):
        texts = [str(message.get("content") or "") for message in messages_of(request.payload)]
        words = sum(len(text.split()) for text in texts)
        usage["total_tokens"] += words - usage["prompt_tokens"]
        usage["prompt_tokens"] = words


def _write_dates(listed: Json) -> None:
    """Write dates like another API. Violates created, which is a number of seconds."""
    for model in listed.get("data") or ():
        if isinstance(model.get("created"), int):
            model["created"] = datetime.fromtimestamp(model["created"], UTC).isoformat()


def _wrap(body: bytes, _request: ServedRequest) -> bytes:
    """Put an answer into an envelope. Violates the form of the answer, which has the choices."""
    return WRAPPED % body


second_replica_counts_otherwise = replica_fault(
    "second-replica-counts-otherwise",
    "One of two replicas counts the words of a prompt as its tokens. It answers every other request.",
    edit=_count_words,
)
times_of_models_are_dates = models_fault(
    "times-of-models-are-dates", "In the list of models, the times are dates in text.", _write_dates
)
answers_in_an_envelope = hooked_fault(
    "answers-in-an-envelope", "A plain answer is the field data of an object with a code and a message.", plain=_wrap
)
