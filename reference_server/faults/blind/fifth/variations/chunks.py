"""Variations of how streams are written: line ends, lines, comments, nulls, and the order of choices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi.stream import sse
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, variation
from reference_server.faults.fault_middleware import parse_object
from reference_server.faults.hooks import DATA, DONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

LINE_ENDS: Final = (b"\r\n", b"\n", b"\r")
COMMENTS: Final = b': data: {"choices": []}\n: data: [DONE]\n'
COMMENTED: Final = 3  # every third event
NULLABLE: Final = ("role", "content", "tool_calls")
SEVERAL: Final = allows(n=2, temperature=1.0, stream=True, stream_options={"include_usage": True})


def _vary_line_ends(frame: bytes, request: ServedRequest) -> Iterable[bytes]:
    return [frame.replace(b"\n", LINE_ENDS[request.event_index % len(LINE_ENDS)])]


def _spread(frame: bytes, _request: ServedRequest) -> Iterable[bytes]:
    chunk = parse_object(frame.removeprefix(DATA)) if frame.startswith(DATA) else {}
    lines = orjson.dumps(chunk, option=orjson.OPT_INDENT_2).splitlines()
    return [b"".join(DATA + line + b"\n" for line in lines) + b"\n" if chunk else frame]


def _comment(frame: bytes, request: ServedRequest) -> Iterable[bytes]:
    return [COMMENTS + frame if request.event_index % COMMENTED == 0 else frame]


def _add_nulls(chunk: Json, _request: ServedRequest) -> None:
    for choice in choices_of(chunk):
        choice["delta"] = {**dict.fromkeys(NULLABLE), **choice["delta"]}


def _allows_nulls(contract: Contract) -> bool:
    """Apply to dialects in which these fields of a delta may be null."""
    fields = contract.schemas["Delta"]["properties"]
    schemas = [fields.get(name, {}) for name in NULLABLE]
    return all("null" in schema.get("type", ()) or None in schema.get("enum", ()) for schema in schemas)


def _repeat_deltas(chunk: Json, _request: ServedRequest) -> None:
    for choice in choices_of(chunk):
        choice["message"] = {**choice["delta"]}
    chunk.update(Successful=True, HttpStatusCode=0, HeaderValues=None)


def _is_loose(contract: Contract) -> bool:
    """Apply to dialects without times of single tokens, in which a chunk may have further fields."""
    return not contract.answer.timings and "stream_options" in contract.parameters


def _index_of(frame: bytes) -> int | None:
    choices = parse_object(frame.removeprefix(DATA)).get("choices") or []
    index: Any = choices[0].get("index") if len(choices) == 1 else None
    return index if isinstance(index, int) else None


def _later_first(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    held: bytes | None = request.state.pop("held", None)
    index = _index_of(frame)
    if index == 0:
        if held is not None:
            yield held
        request.state["held"] = frame
    elif held is not None:
        yield from (held, frame) if index is None else (frame, held)
    else:
        yield frame


def _share(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    held: bytes | None = request.state.pop("held", None)
    if _index_of(frame) == 0 and frame != DONE:
        if held is not None:
            yield held
        request.state["held"] = frame
    elif held is not None and _index_of(frame) is not None:
        first, second = (parse_object(sent.removeprefix(DATA)) for sent in (held, frame))
        yield sse.encode(orjson.dumps({**first, "choices": [*first["choices"], *second["choices"]]}))
    else:
        yield from (frame,) if held is None else (held, frame)


line_ends_vary = variation(
    "line-ends-vary", "The lines of a stream end with LF, with CR, or with both.", event=_vary_line_ends
)
chunks_over_several_lines = variation(
    "chunks-over-several-lines", "The JSON of a chunk is spread over several lines of data.", event=_spread
)
comments_like_events = variation(
    "comments-like-events", "Comments in a stream look like events, and like its end.", event=_comment
)
nulls_in_deltas = variation(
    "nulls-in-deltas",
    "Fields of a delta that have no value are null.",
    chunk=_add_nulls,
    applies_to=_allows_nulls,
)
deltas_repeated_as_messages = variation(
    "deltas-repeated-as-messages",
    "Each choice of a chunk has its delta again, as a message, and the chunk has fields of a client library.",
    chunk=_repeat_deltas,
    applies_to=_is_loose,
)
later_choices_first = variation(
    "later-choices-first",
    "A stream with several choices sends the piece of a later choice before that of the first.",
    event=_later_first,
    applies_to=SEVERAL,
)
choices_share_chunks = variation(
    "choices-share-chunks",
    "In a stream with several choices, a chunk contains pieces of two of them.",
    event=_share,
    applies_to=SEVERAL,
)
