"""Blind faults of streams: empty roles, choices next to usage, two ends, and separators of lines in text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of
from reference_server.faults.hooks import DONE, FRAME_END

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest

SEPARATOR: Final = re.compile("[\u0085\u2028\u2029]")


def _empty_roles(chunk: Json, request: ServedRequest) -> None:
    """Write each field. Violates delta.role, which names a role or is missing."""
    opened: set[Any] = request.state.setdefault("opened", set())
    for choice in choices_of(chunk):
        if choice.get("index") in opened:
            message_of(choice)["role"] = ""
        opened.add(choice.get("index"))


def _add_choice(chunk: Json, _request: ServedRequest) -> None:
    """Fill a template. Violates choices, which are empty next to the usage."""
    if chunk.get("usage") and chunk.get("choices") == []:
        chunk["choices"] = [{"index": 0, "delta": {"content": ""}, "logprobs": None, "finish_reason": None}]


def _end_twice(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """Pass an end on and add one's own. Violates the stream, which ends with `[DONE]`."""
    yield frame
    if frame == DONE:
        yield frame


def _split_lines(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """Split lines where text may have them. Violates data: JSON."""
    found = SEPARATOR.search(frame.decode())
    yield frame if found is None else frame.decode()[: found.start()].encode() + FRAME_END


roles_empty_after_the_first_chunk = hooked_fault(
    "roles-empty-after-the-first-chunk",
    "Every delta except the first of a choice has a role that is an empty string.",
    chunk=_empty_roles,
)
usage_chunks_have_a_choice = hooked_fault(
    "usage-chunks-have-a-choice",
    "The chunk with the usage has a choice without text.",
    chunk=_add_choice,
    applies_to=has_parameters("stream_options"),
)
done_sent_twice = hooked_fault("done-sent-twice", "`[DONE]` is sent twice.", event=_end_twice)
separators_in_text_cut_events = hooked_fault(
    "separators-in-text-cut-events",
    "An event of a stream ends at a character in its text that separates lines, such as U+2028.",
    event=_split_lines,
)
