"""Faults that show when several requests run at the same time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.fault_middleware import (
    FaultMiddleware,
    is_chat_request,
    parse_object,
    read_body,
    replay_body,
)
from reference_server.faults.hooks import CannedResponse, Hooks
from reference_server.faults.request_edits import messages_of
from reference_server.faults.topics.errors.refusal import ANSWER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_AT_ONCE: Final = 2
GATHERING_S: Final = 0.05
"""How long equal requests are gathered."""


@wrapping_fault("one-at-a-time", bugs=[20], flaky=True)
def one_at_a_time(app: ASGIApp, contract: Contract) -> App:
    """A stream that starts while another is running ends too early."""
    running: set[int] = set()

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        others, own = bool(running), id(scope)
        running.add(own)
        sent = 0

        async def cut(message: Message) -> None:
            nonlocal sent
            sent += 1
            if others and sent > 3 and message.get("more_body"):
                return
            if others and sent > 3:
                message = {**message, "body": b""}
            await send(message)

        try:
            await app(scope, receive, cut)
        finally:
            running.discard(own)

    return serve


@wrapping_fault("answers-crossed", bugs=[21], flaky=True)
def answers_are_crossed(app: ASGIApp, contract: Contract) -> App:
    """One of two concurrent requests gets the other's answer."""
    waiting: list[bytes] = []

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        message = await receive()
        body = message.get("body", b"")
        request = messages_of(body)
        other = waiting[-1] if waiting else b""
        if request is not None and other:
            swapped = {**orjson.loads(body), "messages": orjson.loads(other)["messages"]}
            body = orjson.dumps(swapped)
        if request is not None:
            waiting.append(message["body"])
        pending: list[Message] = [{**message, "body": body}]

        async def again() -> Message:
            return pending.pop() if pending else await receive()

        try:
            await app({**scope, "headers": _without_length(scope)}, again, send)
        finally:
            if request is not None:
                waiting.remove(message["body"])

    return serve


def _without_length(scope: Scope) -> list[tuple[bytes, bytes]]:
    return [pair for pair in scope["headers"] if pair[0] != b"content-length"]


def _counting(app: ASGIApp, contract: Contract, running: list[int]) -> App:
    """Count the running requests. Each request waits briefly, so that concurrent requests begin together."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(0.02)
        running[0] += is_chat_request(scope, contract)
        try:
            await app(scope, receive, send)
        finally:
            running[0] -= is_chat_request(scope, contract)

    return serve


@wrapping_fault("bad-ones-answered-in-a-crowd", flaky=True)
def bad_ones_are_answered_in_a_crowd(app: ASGIApp, contract: Contract) -> App:
    """An invalid request is answered while valid ones are running."""
    running = [0]

    def answer(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
        if running[0] > 1:
            head.status = 200
            return ANSWER
        return body

    return _counting(FaultMiddleware(app, contract, Hooks(refusal=answer)), contract, running)


@wrapping_fault("prompts-added-up", bugs=[21], flaky=True)
def prompts_are_added_up(app: ASGIApp, contract: Contract) -> App:
    """The prompt tokens are counted once more for each running request."""
    running = [0]

    def seen(request: ServedRequest) -> None:
        request.state["others"] = running[0] - 1

    def add(response: Json, request: ServedRequest) -> None:
        usage = response.get("usage")
        if isinstance(usage, dict):
            usage["prompt_tokens"] *= 1 + request.state.get("others", 0)
            usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]

    return _counting(FaultMiddleware(app, contract, Hooks(request=seen, answer=add, chunk=add)), contract, running)


@wrapping_fault("refusals-hurt-others", flaky=True)
def refusals_hurt_others(app: ASGIApp, contract: Contract) -> App:
    """A valid request gets a 500 while an invalid one is running."""
    bad = [0]

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        held: list[Message] = []

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                bad[0] += 1
            held.append(message)

        await asyncio.sleep(0.02)
        await app(scope, receive, sent)
        refused = held and held[0].get("status", 200) >= 400
        await asyncio.sleep(0.05)
        if not refused and bad[0]:
            bad[0] = 0
            await CannedResponse(500, b"{}")(scope, receive, send)
            return
        for message in held:
            await send(message)
        if refused:
            await asyncio.sleep(0.1)
            bad[0] = max(0, bad[0] - 1)

    return serve


@wrapping_fault("fails-under-load", flaky=True)
def fails_under_load(app: ASGIApp, contract: Contract) -> App:
    """A request gets a 500 while two others are running."""
    running = [0]

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if running[0] > MOST_AT_ONCE and is_chat_request(scope, contract):
            await CannedResponse(500, b"{}")(scope, receive, send)
        else:
            await app(scope, receive, send)

    return _counting(serve, contract, running)


@wrapping_fault("one-after-another", bugs=[20], timeout_s=30.0, flaky=True)
def one_after_another(app: ASGIApp, contract: Contract) -> App:
    """Requests are answered one after another."""
    lock = asyncio.Lock()

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        async with lock:
            await app(scope, receive, send)
            await asyncio.sleep(0.01)

    return serve


CROWD: Final = 8  # concurrent requests


def _edited_in_a_crowd(app: ASGIApp, contract: Contract, edit: Callable[[Json], None]) -> App:
    """Edit plain answers to requests that begin while more than CROWD requests are running."""
    running = [0]

    def seen(request: ServedRequest) -> None:
        request.state["crowded"] = running[0] > CROWD

    def change(response: Json, request: ServedRequest) -> None:
        if request.state.get("crowded"):
            edit(response)

    return _counting(FaultMiddleware(app, contract, Hooks(request=seen, answer=change)), contract, running)


@wrapping_fault("texts-garbled-in-a-crowd", flaky=True)
def texts_are_garbled_in_a_crowd(app: ASGIApp, contract: Contract) -> App:
    """While more than eight requests are running, the words of a plain answer are in reverse order."""

    def garble(response: Json) -> None:
        for choice in response.get("choices") or ():
            if choice["message"].get("content"):
                choice["message"]["content"] = " ".join(reversed(choice["message"]["content"].split(" ")))

    return _edited_in_a_crowd(app, contract, garble)


@wrapping_fault("ids-shared-in-a-crowd", flaky=True)
def ids_are_shared_in_a_crowd(app: ASGIApp, contract: Contract) -> App:
    """While more than eight requests are running, plain answers have the same id."""
    return _edited_in_a_crowd(app, contract, lambda response: response.update(id="chatcmpl-crowd"))


@wrapping_fault("tokens-miscounted-in-a-crowd", flaky=True)
def tokens_are_miscounted_in_a_crowd(app: ASGIApp, contract: Contract) -> App:
    """While more than eight requests are running, two prompt tokens too many are counted."""

    def miscount(response: Json) -> None:
        if isinstance(usage := response.get("usage"), dict):
            usage["prompt_tokens"] += 2
            usage["total_tokens"] += 2

    return _edited_in_a_crowd(app, contract, miscount)


@wrapping_fault("equal-requests-answered-alike", flaky=True)
def equal_requests_are_answered_alike(app: ASGIApp, contract: Contract) -> App:
    """Requests that are equal and run at the same time are sampled with one seed."""
    running: list[bytes] = []

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        body = await read_body(receive)
        running.append(body)
        await asyncio.sleep(GATHERING_S)
        sent = parse_object(body)
        if running.count(body) > 1 and sent.get("seed") is None and "seed" in contract.parameters:
            sent = {**sent, "seed": 1}
        try:
            await app(scope, replay_body(orjson.dumps(sent) if "seed" in sent else body, receive), send)
        finally:
            running.remove(body)

    return serve
