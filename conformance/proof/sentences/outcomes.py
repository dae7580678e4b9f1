"""Deviations in what a server accepts: it answers requests that it must refuse, or refuses those it must answer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from conformance.errors import HarnessError
from conformance.proof.sentences.deviation import Deviation

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exchange import Exchange, Response
    from conformance.proof.recorded_run import RecordedRun

Outcome = Literal["answered", "refused"]


def make_outcome(summary: str, outcome: Outcome, concerns: Callable[[Any, RecordedRun], bool]) -> Deviation:
    """Return the deviation of a server that treats some request bodies contrary to the recorded server.

    concerns: tells whether a request body, as JSON, is one of them.
    """

    def change(exchange: Exchange, run: RecordedRun) -> Exchange | None:
        if exchange.status is None or exchange.request.method != "POST" or was(exchange) == outcome:
            return None
        if not _asks_for_chat(exchange, run) or not concerns(exchange.request_json, run):
            return None
        return replace(exchange, response=_find_response(exchange, outcome, run), failure=None)

    return Deviation(summary, "any", change, lenient=outcome == "answered")


def was(exchange: Exchange) -> Outcome:
    """Return whether the request was answered or refused."""
    return "refused" if exchange.status is not None and exchange.status >= 400 else "answered"


def _asks_for_chat(exchange: Exchange, run: RecordedRun) -> bool:
    return exchange.request.url.partition("?")[0].endswith(run.contract.path)


def _find_response(exchange: Exchange, outcome: Outcome, run: RecordedRun) -> Response:
    """Return the response to the recorded request with the fewest parameters of the same form and the given outcome."""
    body = exchange.request_json
    streams = isinstance(body, dict) and body.get("stream") is True
    responses = [
        (len(other.request_json), other.response)
        for other in run.exchanges.values()
        if other.response is not None and other.complete and was(other) == outcome and _asks_for_chat(other, run)
        if isinstance(other.request_json, dict)
        if outcome == "refused" or (other.succeeded and other.is_stream == streams)
    ]
    if not responses:
        raise HarnessError(f"the recorded run of {run.contract.name} has no request that was {outcome}")
    return min(responses, key=lambda pair: pair[0])[1]


def is_same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal, and of the same types."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
