"""Variations of HTTP: headers, white space in front of bodies, bursts."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import variation, wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.hooks import DONE, FRAME_END
from reference_server.faults.http_gate import edit_headers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ResponseHead, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

LINES: Final = 3
LINE_S: Final = 0.2
BURST: Final = 5  # events
BURST_S: Final = 0.1
NON_ASCII: Final = re.compile(r"[^\x00-\x7e]")
KONG: Final = [
    (b"mistral-correlation-id", b"019b98cb-9ba7-7ce1-9414-ce1995670282"),
    (b"x-kong-request-id", b"019b98cb-9ba7-7ce1-9414-ce1995670282"),
    (b"x-kong-upstream-latency", b"118"),
    (b"via", b"1.1 kong/3.4.2, 1.1 google"),
    (b"set-cookie", b"__cf_bm=a1b2c3; path=/; HttpOnly; Secure; SameSite=None"),
    (b"set-cookie", b"_cfuvid=d4e5f6; path=/; HttpOnly; Secure; SameSite=None"),
    (b"x-content-type-options", b"nosniff"),
]


@wrapping_fault("kong-headers", benign=True)
def kong_headers(app: ASGIApp, _contract: Contract) -> App:
    """A gateway adds its headers, of which two are cookies."""
    return edit_headers(app, lambda _scope, headers: [*headers, *KONG])


@wrapping_fault("blank-lines-while-waiting", benign=True)
def blank_lines_while_waiting(app: ASGIApp, contract: Contract) -> App:
    """Blank lines keep the connection open until the body of a plain answer is sent."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        starts: list[Message] = []

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                kind: bytes = dict(message["headers"]).get(b"content-type", b"")
                if kind.startswith(b"application/json") and message["status"] == 200:
                    starts.append(message)
                    return
            elif starts:
                kept = [pair for pair in starts[0]["headers"] if pair[0] != b"content-length"]
                await send({**starts.pop(), "headers": kept})
                for _ in range(LINES):
                    await send({"type": "http.response.body", "body": b"\n", "more_body": True})
                    await asyncio.sleep(LINE_S)
            await send(message)

        await app(scope, receive, sent if is_chat_request(scope, contract) else send)

    return serve


def _advise(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    head.headers["x-should-retry"] = "false"
    head.headers["x-robots-tag"] = "none"
    return body


def _repeat_status(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    return {**body, "raw_status_code": head.status} if isinstance(body, dict) else body


async def _in_bursts(body: bytes, request: ServedRequest) -> AsyncIterator[bytes]:
    held: list[bytes] = request.state.setdefault("held", [])
    held += [frame + FRAME_END for frame in body.split(FRAME_END) if frame]
    while len(held) >= BURST or DONE in held:
        await asyncio.sleep(BURST_S)
        burst = b"".join(held[:BURST])
        del held[:BURST]
        yield burst


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{int.from_bytes(units[at : at + 2]):04X}" for at in range(0, len(units), 2))


def _in_capitals(body: bytes, _request: ServedRequest) -> bytes:
    return NON_ASCII.sub(_escape, body.decode()).encode()


retry_advised = variation("retry-advised", "Headers of refusals advise against a retry.", refusal=_advise)
refusals_repeat_the_status = variation(
    "refusals-repeat-the-status", "Refusals contain the status in a further field.", refusal=_repeat_status
)
tokens_in_bursts = variation("tokens-in-bursts", "Five events at a time are sent in one segment.", pieces=_in_bursts)
escapes_in_capitals = variation(
    "escapes-in-capitals",
    "Non-ASCII characters in JSON are escaped with hexadecimal digits in capitals.",
    plain=_in_capitals,
    event=lambda frame, request: [_in_capitals(frame, request)],
)
