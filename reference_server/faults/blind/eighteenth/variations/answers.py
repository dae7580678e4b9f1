"""Variations of answers: comments, headers, ids of calls, and another model."""

from __future__ import annotations

import time
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.frame_recipes import replacing_call_ids
from reference_server.faults.blind.other_models import model_after
from reference_server.faults.decorators import has_parameters, variation
from reference_server.faults.hooks import FRAME_END

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import ResponseHead, ServedRequest

COMMENT: Final = b"\n: gateway\n\n"
ID_END: Final = 12
TAG_LENGTH: Final = 27


def _comment(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """Append a comment to the lines of the event."""
    yield frame.removesuffix(FRAME_END) + COMMENT


def _name_file(head: ResponseHead, _request: ServedRequest) -> None:
    head.headers["content-disposition"] = 'inline; filename="answer.txt"' if head.streams else "inline"


def _digest(body: bytes, request: ServedRequest) -> bytes:
    request.state["digest"] = b64encode(sha256(body).digest()).decode()
    return body


def _state_validator(head: ResponseHead, request: ServedRequest) -> None:
    if "digest" in request.state:
        head.headers["etag"] = f'W/"{request.state["digest"][:TAG_LENGTH]}"'


def _state_digest(head: ResponseHead, request: ServedRequest) -> None:
    if "digest" in request.state:
        head.headers["content-digest"] = f"sha-256=:{request.state['digest']}:"


comments_within_events = variation(
    "comments-within-events", "The data of each event of a stream is followed by a comment.", event=_comment
)
dispositions_in_headers = variation(
    "dispositions-in-headers", "Responses have the header Content-Disposition.", head=_name_file
)
validators_in_headers = variation(
    "validators-in-headers", "Plain answers have a weak ETag.", plain=_digest, head=_state_validator
)
digests_in_headers = variation(
    "digests-in-headers", "Plain answers have the header Content-Digest.", plain=_digest, head=_state_digest
)
_rename = replacing_call_ids(lambda call_id: f"call-{time.time_ns() // 1_000_000}-{call_id[-ID_END:]}")
call_ids_with_times = variation(
    "call-ids-with-times",
    "Ids of calls contain the time.",
    answer=_rename,
    chunk=_rename,
    applies_to=has_parameters("tools"),
)
model_after_dutch = model_after(
    "model-after-dutch",
    "The model answers after a conversation in Dutch.",
    "Goedemorgen! Wat is de hoofdstad van Nederland?",
    "De hoofdstad van Nederland is Amsterdam.",
)
