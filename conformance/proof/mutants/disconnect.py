"""Mutants of what follows when a client disconnects."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.exchange import Failure
from conformance.proof.editing.responses import cut, refuse, response_of
from conformance.proof.editing.streams import edit_deltas
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange

AFTER_FIRST = slice(2, None)
"""The events behind the one with the role and the first one with text."""


@mutant("disconnect.server-goes-on")
def server_hangs_after_a_disconnect(exchange: Exchange) -> Exchange:
    """After a client disconnected, the next request is never answered."""
    return replace(exchange, response=None, failure=Failure("timeout", "no complete answer within 120 s"))


@mutant("disconnect.early-leave-survived")
def early_leave_breaks_the_server(exchange: Exchange) -> Exchange:
    """After a client disconnected before the first event, the next request gets a 500."""
    return refuse(exchange, 500)


@mutant("disconnect.answer-stays-whole", steps="streamed-after")
def beginning_is_kept(exchange: Exchange) -> Exchange:
    """What the client had read before it disconnected is the whole answer to the same request."""
    return edit_deltas(exchange, lambda delta: delta.update(content="") if delta.get("content") else None, AFTER_FIRST)


@mutant("disconnect.others-unhurt")
def others_are_cut_too(exchange: Exchange) -> Exchange:
    """When a client disconnects, the answers of others break off."""
    return cut(exchange)


@mutant("disconnect.place-freed", steps="after-*")
def answer_is_computed_to_its_end(exchange: Exchange) -> Exchange:
    """The next request waits until the answer to the disconnected client is complete."""
    response = response_of(exchange)
    return replace(exchange, response=replace(response, ended_at_s=response.ended_at_s * 10 + 60))
