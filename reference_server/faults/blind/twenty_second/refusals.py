"""Blind faults of refusals: unreadable images, conversations without messages, and longer stop strings."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import refusing, when
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.request_edits import failed
from reference_server.faults.topics.media.decoded_edits import BASE64_MARK, media_parts, takes

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

SIGNATURES: Final = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM")
"""How the files of images begin."""


def _is_unreadable(location: str) -> bool:
    head, mark, data = location.partition(BASE64_MARK)
    if not (mark and head.startswith("data:image/")):
        return False
    try:
        return not b64decode(data, validate=True).startswith(SIGNATURES)
    except binascii.Error:
        return True


def _fail_to_decode(request: ServedRequest) -> CannedResponse | None:
    """Do not expect errors of the decoder. Violates the errors: an invalid request is not a failure of the server."""
    is_hit = any(_is_unreadable(location) for _, location in media_parts(request))
    return failed(request) if is_hit else None


def _has_no_messages(sent: Json) -> bool:
    return sent.get("messages") == []


def _refuses_no_messages(contract: Contract) -> bool:
    return not allows(messages=[])(contract)


def _has_words(sent: Json) -> bool:
    stop = sent.get("stop")
    stops = stop if isinstance(stop, list) else [stop]
    return any(isinstance(text, str) and len(text.split()) > 1 for text in stops)


unreadable_images_are_failures = hooked_fault(
    "unreadable-images-are-failures",
    "A request gets a 500 if the data of an image are not Base64, or not an image.",
    request=_fail_to_decode,
    applies_to=takes("image"),
)
# Violates the errors: an invalid request is not a failure of the server.
empty_conversations_are_failures = when(
    "empty-conversations-are-failures",
    "A request with an empty list of messages gets a 500.",
    _has_no_messages,
    failed,
    applies_to=_refuses_no_messages,
)
# Violates stop, whose strings may have any number of tokens.
stops_of_several_words_refused = when(
    "stops-of-several-words-refused",
    "A request is refused if a stop string has several words.",
    _has_words,
    refusing("stop: a stop string must be a single token"),
    applies_to=allows(stop=["one two"]),
)
