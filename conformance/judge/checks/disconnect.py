"""Clients that leave: the server goes on, and their place is free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, check, relation
from conformance.judge.applicability import scenario, unsuccessful

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

TIMES, GRACE_S = 3.0, 1.0  # slower than three times the slowest before, and a second: twice in a row


@check("disconnect.server-goes-on", on=scenario("disconnect", "after"))
def server_answers_after_a_client_left(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """After a client has left in mid-stream the server answers the next request."""
    if lack := unsuccessful(exchange):
        yield Finding("/status", "200", lack)


@check("disconnect.early-leave-survived", on=scenario("disconnect-at-once", "after"))
def server_answers_after_a_client_left_at_once(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """After clients have left before the first event the server answers the next request."""
    if lack := unsuccessful(exchange):
        yield Finding("/status", "200", lack)


@check("disconnect.others-unhurt", on=scenario("disconnect-among-others", "stays-*"))
def others_are_served_when_a_client_leaves(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A client that leaves in mid-stream takes no other down: those that stay are answered to their end."""
    if lack := unsuccessful(exchange):
        yield Finding("/status", "200 and a complete answer", lack)


def _duration_s(exchange: Exchange) -> float:
    return exchange.response.ended_at_s if exchange.response is not None else 0.0


@relation(
    "disconnect.place-freed",
    over=("before-1", "before-2", "after-1", "after-2"),
    lacks=unsuccessful,
)
def place_is_free_after_a_client_left(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A short request after clients that left long answers takes about as long as before: nobody computes them on.

    Blamed is a server on which it took more than three times as long as the slowest before and a second more, both
    times: a single delay may have any cause.
    """
    before = max(_duration_s(exchanges[name]) for name in ("before-1", "before-2"))
    after = min(_duration_s(exchanges[name]) for name in ("after-1", "after-2"))
    if after > TIMES * before + GRACE_S:
        yield Finding(
            "/response", f"at most {TIMES * before + GRACE_S:.2f} s", f"{after:.2f} s; before: {before:.2f} s"
        )
