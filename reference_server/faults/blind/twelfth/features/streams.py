"""Blind faults of streams: roles of later choices, the sign of the end, and ids of requests."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of
from reference_server.faults.hooks import DONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

BARE: Final = b"data: DONE\n\n"
ID_BYTES: Final = 16


def _drop_later_roles(chunk: Json, _request: ServedRequest) -> None:
    """Count the chunks of a stream. Violates delta.role: the first delta of each choice has it."""
    for choice in choices_of(chunk):
        if choice.get("index"):
            message_of(choice).pop("role", None)


def _opens_choices(contract: Contract) -> bool:
    return contract.stream.role == "first-delta" and "n" in contract.parameters


def _end_bare(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """Spell the end otherwise. Violates the end of a stream: `[DONE]`."""
    yield BARE if frame == DONE else frame


def _name_otherwise(chunk: Json, request: ServedRequest) -> None:
    """Name streams at random. Violates request_id, which is part of the id."""
    if request.payload.get("request_id") and isinstance(chunk.get("id"), str):
        chunk["id"] = request.state.setdefault("id", f"chatcmpl-{secrets.token_hex(ID_BYTES)}")


later_choices_lack_roles = hooked_fault(
    "later-choices-lack-roles",
    "In a stream with several choices, only the first one has a role.",
    chunk=_drop_later_roles,
    applies_to=_opens_choices,
)
done_lacks_brackets = hooked_fault(
    "done-lacks-brackets", "The last event of a stream is `DONE`, without brackets.", event=_end_bare
)
request_ids_lost_in_streams = hooked_fault(
    "request-ids-lost-in-streams",
    "request_id has no effect on the id of a stream.",
    chunk=_name_otherwise,
    applies_to=has_parameters("request_id"),
)
