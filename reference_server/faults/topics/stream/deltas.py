"""Faults in the role of deltas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import choice_fault, fault, message_of, requires_check

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


role_user = choice_fault(
    "role-user",
    lambda choice, _request: message_of(choice).update(role="user"),
    "The role of messages and deltas is user.",
)
role_missing = choice_fault(
    "role-missing",
    lambda choice, _request: message_of(choice).pop("role", None),
    "Messages and deltas have no role.",
    bugs=[37],
)
role_null = choice_fault(
    "role-null",
    lambda choice, _request: message_of(choice).update(role=None),
    "The role is null.",
    plain=False,
    bugs=[40],
)
role_empty = choice_fault(
    "role-empty",
    lambda choice, _request: message_of(choice).update(role=""),
    "The role is an empty string.",
    plain=False,
    bugs=[40],
)


@fault("role-first-only", "chunk", applies_to=requires_check("stream.role-in-every-delta"))
def role_first_only(chunk: Json, request: ServedRequest) -> None:
    """Only the first delta has a role, where the dialect requires it in each."""
    if request.event_index > 0:
        for choice in chunk["choices"]:
            choice["delta"].pop("role", None)


@fault("role-in-every-delta", "chunk", applies_to=lambda contract: contract.stream.role == "first-delta", bugs=[38])
def role_in_every_delta(chunk: Json, _request: ServedRequest) -> None:
    """Every delta has a role, where the dialect requires it only in the first."""
    for choice in chunk["choices"]:
        choice["delta"] = {"role": "assistant", **choice["delta"]}


@fault("role-at-the-end", "chunk", bugs=[37])
def role_comes_at_the_end(chunk: Json, _request: ServedRequest) -> None:
    """The role is sent with the last delta."""
    for choice in chunk["choices"]:
        choice["delta"].pop("role", None)
        if choice["finish_reason"] is not None:
            choice["delta"]["role"] = "assistant"
