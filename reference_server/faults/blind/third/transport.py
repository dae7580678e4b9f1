"""Blind faults of HTTP and of the bytes of streams: codings, prefixes and the borders of characters."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING, Final

from openapi.stream import sse
from reference_server.faults.decorators import choices_of, hooked_fault, message_of, wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request, parse_object
from reference_server.faults.hooks import DATA, DONE
from reference_server.faults.http_gate import header_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

REFUSED_GZIP: Final = re.compile(rb"gzip\s*;\s*q=0(\.0*)?\s*(,|$)")
BASIC: Final = 0xFFFF


def _prefix_done(frame: bytes, _request: ServedRequest) -> Iterable[bytes]:
    return [DATA + DONE if frame == DONE else frame]


def _encode_again(chunk: Json, _request: ServedRequest) -> None:
    for choice in choices_of(chunk):
        said = message_of(choice)
        if isinstance(said.get("content"), str) and not said["content"].isascii():
            said["content"] = said["content"].encode().decode("latin-1")


def _lose_at_borders(chunk: Json, request: ServedRequest) -> None:
    for choice in choices_of(chunk):
        said, begun = message_of(choice), request.state.setdefault("begun", set())
        if said.get("content"):
            if choice.get("index") in begun and not said["content"][0].isascii():
                said["content"] = said["content"][1:]
            begun.add(choice.get("index"))


def _split_surrogates(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    chunk = parse_object(frame.removeprefix(DATA))
    choices = chunk.get("choices") or []
    text = choices[0]["delta"].get("content") if len(choices) == 1 and "delta" in choices[0] else None
    at = next((at for at, character in enumerate(text or "") if ord(character) > BASIC), None)
    if text is None or at is None:
        yield frame
        return
    units = text[at].encode("utf-16-be")
    high, low = (chr(int.from_bytes(units[start : start + 2])) for start in (0, 2))
    halves = (text[:at] + high, low + text[at + 1 :])
    for part, ends in zip(halves, (None, choices[0].get("finish_reason")), strict=True):
        delta = {**choices[0]["delta"], "content": part}
        piece = {**chunk, "choices": [{**choices[0], "delta": delta, "finish_reason": ends}]}
        yield sse.encode(json.dumps(piece, separators=(",", ":")).encode())


done_prefixed_twice = hooked_fault(
    "done-prefixed-twice", "The last event of a stream is `data: data: [DONE]`.", event=_prefix_done
)
streams_encoded_twice = hooked_fault(
    "streams-encoded-twice",
    "The UTF-8 of the text in streams is read as Latin-1 and encoded again.",
    chunk=_encode_again,
)
characters_lost_at_borders = hooked_fault(
    "characters-lost-at-borders",
    "If the text of a chunk that is not the first begins with a non-ASCII character, the character is lost.",
    chunk=_lose_at_borders,
)
surrogates_in_two_chunks = hooked_fault(
    "surrogates-in-two-chunks",
    "A character beyond U+FFFF is divided between two chunks, each with half of a surrogate pair.",
    event=_split_surrogates,
)


@wrapping_fault("refused-codings-used")
def refused_codings_are_used(app: ASGIApp, contract: Contract) -> App:
    """Plain answers are compressed with gzip for clients that refuse it with `gzip;q=0`."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        starts: list[Message] = []

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                kind: bytes = dict(message["headers"]).get(b"content-type", b"")
                if kind.startswith(b"application/json") and message["status"] < 300:
                    starts.append(message)
                    return
            elif starts:
                body = gzip.compress(message.get("body", b""))
                kept = [pair for pair in starts[0]["headers"] if pair[0] != b"content-length"]
                added = [(b"content-length", str(len(body)).encode()), (b"content-encoding", b"gzip")]
                await send({**starts[0], "headers": [*kept, *added]})
                message = {**message, "body": body}
            await send(message)

        refused = bool(REFUSED_GZIP.search(header_of(scope, b"accept-encoding").lower()))
        await app(scope, receive, sent if is_chat_request(scope, contract) and refused else send)

    return serve
