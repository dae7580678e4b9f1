"""Variations of answers: how they are sent, ids, headers, fields, and the tokens of images."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final
from uuid import NAMESPACE_OID, uuid5

from reference_server.faults.blind.validity import has_own_ids
from reference_server.faults.decorators import (
    choices_of,
    has_parameters,
    message_of,
    variation,
    wrapping_fault,
)
from reference_server.faults.topics.media.decoded_edits import counts_media, takes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

WAIT_S: Final = 0.7
PAUSE_S: Final = 0.01
PICTURE_TOKENS: Final = 85
HEADERS: Final = {
    "x-envoy-upstream-service-time": "605",
    "strict-transport-security": "max-age=15724800; includeSubDomains",
    "x-ratelimit-remaining-tokens": "149984",
}


def _write_white_space(body: bytes, _request: ServedRequest) -> bytes:
    return b"\n\n \n" + body


def _use_uuids(response: Json, _request: ServedRequest) -> None:
    if isinstance(response.get("id"), str):
        response["id"] = str(uuid5(NAMESPACE_OID, response["id"]))


def _add_headers(head: ResponseHead, _request: ServedRequest) -> None:
    head.headers.update(HEADERS)


def _add_times(response: Json, _request: ServedRequest) -> None:
    if isinstance(response.get("usage"), dict):
        response["usage"] |= {"queue_time": 0.018, "prompt_time": 0.0012, "completion_time": 0.52, "cost": "0.00002"}


def _count_larger_images(response: Json, request: ServedRequest) -> None:
    usage, images = response.get("usage"), counts_media(request)
    if isinstance(usage, dict) and usage.get("prompt_tokens"):
        usage["prompt_tokens"] += images * PICTURE_TOKENS
        usage["total_tokens"] += images * PICTURE_TOKENS


def _add_nulls(answer: Json, _request: ServedRequest) -> None:
    for choice in choices_of(answer):
        for name in ("annotations", "audio", "function_call", "reasoning"):
            message_of(choice).setdefault(name, None)
    for name in ("service_tier", "system_fingerprint", "prompt_logprobs", "kv_transfer_params"):
        answer.setdefault(name, None)


@wrapping_fault("answers-begin-late", benign=True, timeout_s=30.0)
def answers_begin_late(app: ASGIApp, _contract: Contract) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """The head of each response comes 0.7 seconds after the request."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(WAIT_S)
        await app(scope, receive, send)

    return serve


@wrapping_fault("plain-answers-in-pieces", benign=True)
def plain_answers_in_pieces(app: ASGIApp, _contract: Contract) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """The body of a plain answer is sent in two pieces."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_pieces(message: Message) -> None:
            body = message.get("body", b"")
            if message["type"] == "http.response.body" and not message.get("more_body") and body.startswith(b"{"):
                middle = len(body) // 2
                await send({**message, "body": body[:middle], "more_body": True})
                await asyncio.sleep(PAUSE_S)
                message = {**message, "body": body[middle:]}
            await send(message)

        await app(scope, receive, send_pieces)

    return serve


white_space_precedes_answers = variation(
    "white-space-precedes-answers", "Plain answers begin with empty lines.", plain=_write_white_space
)
ids_of_uuids = variation(
    "ids-of-uuids", "Ids of answers are UUIDs.", answer=_use_uuids, chunk=_use_uuids, applies_to=has_own_ids
)
headers_of_gateways = variation("headers-of-gateways", "Responses have headers of a gateway.", head=_add_headers)
usage_with_times = variation(
    "usage-with-times",
    "The usage has fields of its own, of which some are fractions or strings.",
    answer=_add_times,
    chunk=_add_times,
    applies_to=has_own_ids,
)
larger_images_counted = variation(
    "larger-images-counted",
    "Each image and sound counts 85 tokens more.",
    answer=_count_larger_images,
    chunk=_count_larger_images,
    applies_to=takes("image"),
)
unused_fields_null = variation(
    "unused-fields-null",
    "Fields of answers and messages that do not apply are null.",
    answer=_add_nulls,
    applies_to=has_parameters("kv_transfer_params"),
)
