"""Several clients at once: every one is served."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, check
from conformance.occasion import scenario, unsuccessful

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange


@check("parallel.all-answered", on=scenario("parallel-*"))
def parallel_requests_are_all_answered(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Requests sent at the same time are all answered to their end."""
    if lack := unsuccessful(exchange):
        yield Finding("/status", "200 and a complete answer", lack)
    elif exchange.finish_reason() is None:
        yield Finding("/choices/0/finish_reason", "a reason", "none")
