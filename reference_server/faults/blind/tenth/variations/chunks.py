"""Variations of streams: text in single characters, roles in ends, and ids of calls."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

from reference_server.faults.blind.frame_recipes import (
    has_fields_of_tokens,
    only_choice,
    read_chunk,
    replacing_call_ids,
    write_chunk,
)
from reference_server.faults.decorators import has_parameters, message_of, variation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from reference_server.faults.hooks import ServedRequest


def _send_characters(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Yield a chunk for each character of text, unless chunks count tokens or have other fields."""
    chunk = read_chunk(frame)
    choice = only_choice(chunk)
    said = message_of(choice) if choice is not None else {}
    text = said.get("content")
    others = [name for name, value in said.items() if value and name not in ("role", "content")]
    ends = choice is None or choice.get("finish_reason") or choice.get("logprobs") or "full_text" in chunk
    if ends or others or not isinstance(text, str) or len(text) < 2 or has_fields_of_tokens(request.payload):
        yield frame
        return
    for character in text:
        yield write_chunk({**chunk, "choices": [{**(choice or {}), "delta": {**said, "content": character}}]})


async def _send_lines(body: bytes, _request: ServedRequest) -> AsyncIterator[bytes]:
    """Yield each line of an event by itself, and after it the blank line."""
    for line in body.splitlines(keepends=True):
        yield line


def _name_call(call_id: str) -> str:
    """Return an id in Base64."""
    return b64encode(sha256(call_id.encode()).digest()).decode()


use_base64 = replacing_call_ids(_name_call)

texts_in_single_characters = variation(
    "texts-in-single-characters", "Each chunk has one character of text.", event=_send_characters
)
lines_sent_one_by_one = variation(
    "lines-sent-one-by-one", "The lines of a stream, blank ones too, are sent one by one.", pieces=_send_lines
)
call_ids_in_base64 = variation(
    "call-ids-in-base64",
    "Ids of calls are Base64, with plus and equals signs and slashes.",
    answer=use_base64,
    chunk=use_base64,
    applies_to=has_parameters("tools"),
)
