"""Hold, merge and split the frames of a stream, for variations of how chunks are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi.stream import sse
from reference_server.faults.decorators import choices_of, message_of
from reference_server.faults.fault_middleware import parse_object
from reference_server.faults.hooks import DATA, DONE

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json

OF_TOKENS: Final = ("logprobs", "return_token_ids", "return_token_offsets", "stream_interval")
"""Parameters with which a chunk has fields for each of its tokens."""


def read_chunk(frame: bytes) -> Json:
    """Return the chunk in a frame; an empty object for another frame."""
    return {} if frame == DONE else parse_object(frame.removeprefix(DATA))


def write_chunk(chunk: Json) -> bytes:
    """Return a frame with a chunk."""
    return sse.encode(orjson.dumps(chunk))


def only_choice(chunk: Json) -> Json | None:
    """Return the choice of a chunk with one choice."""
    choices = list(choices_of(chunk))
    return choices[0] if len(choices) == 1 else None


def calls_in(chunk: Json) -> list[Json]:
    """Return the pieces of calls in a chunk with one choice."""
    choice = only_choice(chunk)
    calls: Any = message_of(choice).get("tool_calls") if choice is not None else None
    return calls if isinstance(calls, list) else []


def has_fields_of_tokens(sent: Json) -> bool:
    """Whether chunks have fields for each token, or counts so far, so that they may not be merged or split."""
    options = sent.get("stream_options")
    counts = isinstance(options, dict) and options.get("continuous_usage_stats")
    return bool(counts) or any(sent.get(name) for name in OF_TOKENS)
