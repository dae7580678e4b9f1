"""A blind fault of a cache of answers that plain requests and streams share."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import orjson

from reference_server.faults.blind.answer_cache import key_of
from reference_server.faults.blind.recipes import is_greedy, per_server
from reference_server.faults.hooks import CannedResponse, Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _share_answers() -> Hooks:
    answers: dict[bytes, Json] = {}

    def look_up(request: ServedRequest) -> CannedResponse | None:
        """Answer a stream with JSON. Violates stream: true means that chunks are sent as events."""
        key = key_of(request.payload, "stream", "stream_options")
        if request.payload.get("stream") is not True or key not in answers:
            return None
        return CannedResponse(200, orjson.dumps({**answers[key], "created": int(time.time())}))

    def store(answer: Json, request: ServedRequest) -> None:
        if is_greedy(request.payload):
            answers[key_of(request.payload, "stream", "stream_options")] = answer

    return Hooks(request=look_up, answer=store)


cached_whatever_the_stream = per_server(
    "cached-whatever-the-stream",
    "Greedy plain answers are cached, and a stream that asks for the same gets the plain answer.",
    _share_answers,
)
