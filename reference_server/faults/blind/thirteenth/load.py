"""Blind faults of concurrent requests: first pieces that are lost, and clients that leave."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import crowd_fault
from reference_server.faults.decorators import choices_of, message_of, wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request, read_body, replay_body
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import Json, ServedRequest
    from reference_server.faults.http_gate import App

DISCONNECT: Final = {"type": "http.disconnect"}


def _lose_first_pieces(crowd: Crowd) -> Hooks:
    """Subscribe too late. Violates delta.content: the whole text."""

    def note(request: ServedRequest) -> None:
        request.state["late"] = any(sent.get("stream") is True for sent in crowd.others(request))

    def lose(chunk: Json, request: ServedRequest) -> None:
        begun: set[Any] = request.state.setdefault("begun", set())
        for choice in choices_of(chunk) if request.state.get("late") else ():
            said = message_of(choice)
            if said.get("content") and choice.get("index") not in begun:
                begun.add(choice.get("index"))
                said["content"] = ""

    return Hooks(request=note, chunk=lose)


@wrapping_fault("leaving-ends-equal-requests", flaky=True)
def leaving_ends_equal_requests(app: ASGIApp, contract: Contract) -> App:
    """If a client leaves, the answers to equal requests of other clients end too."""
    running: dict[bytes, set[asyncio.Event]] = {}

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        body, ended, over = await read_body(receive), asyncio.Event(), asyncio.Event()
        running.setdefault(body, set()).add(ended)

        async def receive_or_end() -> Message:
            waits = asyncio.ensure_future(receive()), asyncio.ensure_future(ended.wait())
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                message = DISCONNECT if ended.is_set() else waits[0].result()
            finally:
                for wait in waits:
                    wait.cancel()
            if message["type"] == "http.disconnect" and not over.is_set():
                for other in running.get(body, ()):
                    other.set()
            return message

        async def send_and_note(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                over.set()

        try:
            await app(scope, replay_body(body, receive_or_end), send_and_note)
        finally:
            running[body].discard(ended)
            if not running[body]:
                del running[body]

    return serve


late_streams_lose_their_first_piece = crowd_fault(
    "late-streams-lose-their-first-piece",
    "A stream that begins while another one is running lacks its first piece of text.",
    _lose_first_pieces,
)
