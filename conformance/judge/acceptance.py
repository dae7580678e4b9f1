"""TODO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import NotObserved
from conformance.judge.applicability import shown
from openapi.stream.event_order import reports_error

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def status_of(exchange: Exchange) -> int:
    if exchange.status is None:
        raise NotObserved(shown(exchange))
    return exchange.status


def accepted(exchange: Exchange) -> bool:
    """Whether the server took the request: success without an error in the body.

    A stream that was taken and then broke has been accepted: other checks judge how it went on.
    """
    if exchange.status is None or not 200 <= exchange.status < 300:
        return False
    return exchange.is_stream or not reports_error(exchange.json)


def refused(exchange: Exchange) -> bool:
    """Whether the server refused the request as the client's fault: 4xx, or success with an error in the body."""
    if exchange.status is None:
        return False
    if 200 <= exchange.status < 300:
        return not exchange.is_stream and reports_error(exchange.json)
    return 400 <= exchange.status < 500


def why_not_refused(exchange: Exchange) -> str | None:
    taken = exchange.status is None or not 400 <= exchange.status < 600
    return f"{exchange.id} was not refused ({shown(exchange)})" if taken else None
