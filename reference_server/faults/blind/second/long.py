"""Blind faults of long prompts, histories, tools and answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import orjson

from reference_server.faults.blind.recipes import fail, is_whole, messages_of, refusing, text_length, when
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of, wrapping_fault
from reference_server.faults.fault_middleware import (
    FaultMiddleware,
    is_chat_request,
    parse_object,
    read_body,
    replay_body,
    with_length,
)
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

UNBROKEN: Final = re.compile(r"\S{400}")
TOOLS_BYTES: Final = 2_500
INSTRUCTIONS: Final = 240  # characters
RESULT: Final = 600  # characters
LONG_CHARACTERS: Final = 1_000
CEILING: Final = 48  # tokens
TOO_LONG: Final = b"fit: shorten it"
"""Part of the message with which the server refuses a prompt that is too long."""


def _is_unbroken(sent: Json) -> bool:
    return any(UNBROKEN.search(str(message.get("content"))) for message in messages_of(sent))


def _first_instructions(request: ServedRequest) -> None:
    messages = messages_of(request.payload)
    later = [at for at, message in enumerate(messages) if message.get("role") == "system"][1:]
    request.payload["messages"] = [message for at, message in enumerate(messages) if at not in later]


def _cut(role: str, most: int) -> Callable[[ServedRequest], None]:
    """Return a change that keeps the beginning of long messages of a role."""

    def change(request: ServedRequest) -> None:
        for message in messages_of(request.payload):
            if message.get("role") == role and isinstance(message.get("content"), str):
                message["content"] = message["content"][:most]

    return change


def _forget_results(request: ServedRequest) -> None:
    for message in messages_of(request.payload):
        if message.get("role") == "tool" and len(str(message.get("content"))) > RESULT:
            message["content"] = ""


def _leak_calls(answer: Json, request: ServedRequest) -> None:
    for choice in choices_of(answer) if text_length(request.payload) > LONG_CHARACTERS else ():
        said = message_of(choice)
        if said.get("tool_calls"):
            said["content"] = orjson.dumps([call["function"] for call in said["tool_calls"]]).decode()
            said["tool_calls"] = []
            choice["finish_reason"] = "stop"


def _is_long_answer(sent: Json) -> bool:
    return is_whole(sent.get("max_tokens"), CEILING + 1, 2**31 - 1)


def _end_early(request: ServedRequest) -> None:
    request.payload["max_tokens"] = CEILING
    request.state["early"] = True


def _say_stop(response: Json, request: ServedRequest) -> None:
    for choice in choices_of(response) if request.state.get("early") else ():
        if choice.get("finish_reason") == "length":
            choice["finish_reason"] = "stop"


def _blank(response: Json, _request: ServedRequest) -> None:
    for choice in choices_of(response):
        if message_of(choice).get("content"):
            message_of(choice)["content"] = ""


unbroken_words_fail = when(
    "unbroken-words-fail", "A message with 400 characters without white space gets a 500.", _is_unbroken, fail
)
large_tools_refused = when(
    "large-tools-refused",
    "Tools of more than 2,500 bytes are refused.",
    lambda sent: bool(sent.get("tools")) and len(orjson.dumps(sent["tools"])) > TOOLS_BYTES,
    refusing("failed to parse grammar"),
    applies_to=has_parameters("tools"),
)
later_instructions_dropped = when(
    "later-instructions-dropped",
    "All system messages except the first are ignored.",
    lambda sent: [message.get("role") for message in messages_of(sent)].count("system") > 1,
    _first_instructions,
)
long_instructions_cut = when(
    "long-instructions-cut",
    "A system message is cut after 240 characters.",
    lambda sent: any(message.get("role") == "system" for message in messages_of(sent)),
    _cut("system", INSTRUCTIONS),
)
long_results_forgotten = when(
    "long-results-forgotten",
    "The result of a tool is ignored if it has more than 600 characters.",
    lambda sent: any(message.get("role") == "tool" for message in messages_of(sent)),
    _forget_results,
    applies_to=has_parameters("tools"),
)
calls_leak_after_long_prompts = hooked_fault(
    "calls-leak-after-long-prompts",
    "After a prompt of more than 1,000 characters, tool calls are in the content.",
    answer=_leak_calls,
    applies_to=has_parameters("tools"),
)
long_answers_end_early = hooked_fault(
    "long-answers-end-early",
    "An answer ends after 48 tokens, as if it were complete.",
    request=lambda request: _end_early(request) if _is_long_answer(request.payload) else None,
    answer=_say_stop,
    chunk=_say_stop,
)


@wrapping_fault("too-long-prompts-are-silent")
def too_long_prompts_are_silent(app: ASGIApp, contract: Contract) -> App:
    """A prompt that is too long gets an empty answer with status 200."""
    silent = FaultMiddleware(app, contract, Hooks(answer=_blank, chunk=_blank))

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        body = await read_body(receive)
        held: list[Message] = []
        too_long = [False]

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                held.append(message)
            elif held:
                too_long[0] = TOO_LONG in message.get("body", b"")
                if not too_long[0]:
                    await send(held[0])
                    await send(message)
            else:
                await send(message)

        await app(scope, replay_body(body, receive), sent)
        if too_long[0]:
            fields = parse_object(body)
            fields["messages"] = [{"role": "user", "content": "Hello"}]
            body = orjson.dumps(fields)
            await silent(with_length(scope, len(body)), replay_body(body, receive), send)

    return serve
