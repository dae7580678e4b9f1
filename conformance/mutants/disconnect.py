"""A server that does not survive a client that leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.exchange import Failure
from conformance.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("disconnect.server-goes-on")
def server_hangs_after_a_disconnect(exchange: Exchange) -> Exchange:
    """After a client has left the next request is never answered."""
    return replace(exchange, response=None, failure=Failure("timeout", "no complete answer within 120 s"))
