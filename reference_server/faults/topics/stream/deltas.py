"""Faults in the role of deltas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import demands, fault, said_by, spoken

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, Told


role_user = said_by(
    "role-user", lambda choice, _told: spoken(choice).update(role="user"), "The role of what is said is user."
)
role_missing = said_by(
    "role-missing", lambda choice, _told: spoken(choice).pop("role", None), "Nothing said has a role.", bugs=[37]
)
role_null = said_by(
    "role-null", lambda choice, _told: spoken(choice).update(role=None), "The role is null.", plain=False, bugs=[40]
)
role_empty = said_by(
    "role-empty", lambda choice, _told: spoken(choice).update(role=""), "The role is an empty text.", plain=False,
    bugs=[40],
)  # fmt: skip


@fault("role-first-only", "chunk", fits=demands("stream.role-in-every-delta"))
def role_first_only(chunk: Json, told: Told) -> None:
    """The role stands in the first delta only, where the dialect has it in each."""
    if told.at > 0:
        for choice in chunk["choices"]:
            choice["delta"].pop("role", None)


@fault("role-in-every-delta", "chunk", fits=lambda contract: contract.stream.role == "first-delta", bugs=[38])
def role_in_every_delta(chunk: Json, _told: Told) -> None:
    """Every delta carries the role, where the dialect has it in the first only."""
    for choice in chunk["choices"]:
        choice["delta"] = {"role": "assistant", **choice["delta"]}


@fault("role-at-the-end", "chunk", bugs=[37])
def role_comes_at_the_end(chunk: Json, _told: Told) -> None:
    """The role comes with the last delta."""
    for choice in chunk["choices"]:
        choice["delta"].pop("role", None)
        if choice["finish_reason"] is not None:
            choice["delta"]["role"] = "assistant"
