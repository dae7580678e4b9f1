"""Make caches of plain answers that confuse requests."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.faults.blind.recipes import is_greedy, messages_of, per_server
from reference_server.faults.hooks import CannedResponse, Hooks
from reference_server.faults.topics.media.decoded_edits import takes

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine.media import MediaKind
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest

ID_BITS: Final = 63


def key_of(sent: Json, *without: str) -> bytes:
    """Return the key of a request in a cache, without some parameters."""
    return orjson.dumps({name: sent[name] for name in sent if name not in without}, option=orjson.OPT_SORT_KEYS)


def answer_cache(
    name: str,
    line: str,
    make_key: Callable[[Json], bytes],
    is_cached: Callable[[Json], bool],
    keep: Callable[[Json], Json] = lambda answer: answer,
    **options: Any,
) -> Fault:
    """Make a cache of plain answers with a key that is not specific enough, or whose answers are incomplete.

    keep: returns what is kept of an answer.
    """

    def make() -> Hooks:
        answers: dict[bytes, Json] = {}

        def look_up(request: ServedRequest) -> CannedResponse | None:
            if request.payload.get("stream") or not is_cached(request.payload):
                return None
            request.state["key"] = key = make_key(request.payload)
            if key not in answers:
                return None
            own_id = {"id": f"{request.contract.answer.id_prefix}{secrets.randbits(ID_BITS)}"}
            fresh = {**answers[key], "created": int(time.time())} | (own_id if "id" in answers[key] else {})
            return CannedResponse(200, orjson.dumps(fresh))

        def store(answer: Json, request: ServedRequest) -> None:
            if "key" in request.state:
                answers[request.state["key"]] = keep(answer)

        return Hooks(request=look_up, answer=store)

    return per_server(name, line, make, **options)


def cached_without(name: str, line: str, parameter: str, is_cached: Callable[[Json], bool], **options: Any) -> Fault:
    """Make a cache of plain answers whose key lacks a parameter."""
    return answer_cache(name, line, lambda sent: key_of(sent, parameter), is_cached, **options)


def without_media(messages: Any, kind: str) -> Any:
    """Return messages without their parts of a kind, such as image."""
    return [
        {**message, "content": [part for part in message["content"] if kind not in str(part.get("type"))]}
        if isinstance(message, dict) and isinstance(message.get("content"), list)
        else message
        for message in messages
    ]


def cached_whatever_media(name: str, line: str, kind: MediaKind) -> Fault:
    """Make a cache of greedy plain answers whose key lacks the media of a kind."""

    def make_key(sent: Json) -> bytes:
        return key_of({**sent, "messages": without_media(sent["messages"], kind)})

    return answer_cache(
        name, line, make_key, lambda sent: is_greedy(sent) and bool(messages_of(sent)), applies_to=takes(kind)
    )
