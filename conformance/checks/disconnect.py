"""Clients that leave: the server goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, check
from conformance.occasion import scenario, unsuccessful

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange


@check("disconnect.server-goes-on", on=scenario("disconnect", "after"))
def server_answers_after_a_client_left(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """After a client has left in mid-stream the server answers the next request."""
    if lack := unsuccessful(exchange):
        yield Finding("/status", "200", lack)
