"""Blind faults of refusals: failures for what a client got wrong, and requests without a key that are answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import fail, text_length, when
from reference_server.faults.decorators import has_parameters, hooked_fault, wrapping_fault
from reference_server.faults.http_gate import header_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import CannedResponse, Json, ResponseHead, ServedRequest
    from reference_server.faults.http_gate import App

KEY: Final = b"authorization"
SUCCESS: Final = 200
REFUSED: Final = 400
FAILED: Final = 500
LONG: Final = 8_000  # characters


def _fail_without_messages(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """Read a field that is not there. Violates the status of a refusal, which says what is wrong."""
    if request.payload and not request.payload.get("messages") and REFUSED <= head.status < FAILED:
        head.status = FAILED
    return body


def _fail_for_long_prompts(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """Raise an exception in the engine. Violates the status of a refusal, which says what is wrong."""
    if text_length(request.payload) > LONG and REFUSED <= head.status < FAILED:
        head.status = FAILED
    return body


@wrapping_fault("missing-keys-accepted", applies_to=lambda contract: contract.auth == "bearer")
def missing_keys_accepted(app: ASGIApp, _contract: Contract) -> App:
    """Once a request with a key has been answered, requests without any key are answered too."""
    known: list[bytes] = []

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        key = header_of(scope, KEY)

        async def send_and_note(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == SUCCESS and key:
                known[:] = [key]
            await send(message)

        if not key and known:
            scope = {**scope, "headers": [*scope["headers"], (KEY, known[0])]}
        await app(scope, receive, send_and_note)

    return serve


def _has_misspelt_choice(sent: Json) -> bool:
    choice = sent.get("tool_choice")
    function = choice.get("function") if isinstance(choice, dict) else None
    return isinstance(choice, dict) and not (isinstance(function, dict) and isinstance(function.get("name"), str))


def _fail(request: ServedRequest) -> CannedResponse:
    """Read the name of what has none. Violates the status of a refusal, which says what is wrong."""
    return fail(request)


missing_messages_are_failures = hooked_fault(
    "missing-messages-are-failures", "A request without messages gets a 500.", refusal=_fail_without_messages
)
too_long_prompts_are_failures = hooked_fault(
    "too-long-prompts-are-failures", "A prompt that is too long gets a 500.", refusal=_fail_for_long_prompts
)
misspelt_tool_choices_are_failures = when(
    "misspelt-tool-choices-are-failures",
    "A tool_choice that is an object without the name of a function gets a 500.",
    _has_misspelt_choice,
    _fail,
    applies_to=has_parameters("tool_choice"),
)
