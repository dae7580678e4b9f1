"""Deviations of a server that answers a request as if some of its parameters were different.

The answer is the one that the recorded server gave to that other request, in the same scenario if possible.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conformance.proof.sentences.deviation import Deviation
from conformance.proof.sentences.outcomes import is_same

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from conformance.exchange import Exchange
    from conformance.proof.recorded_run import RecordedRun
    from conformance.proof.sentences.deviation import Form


def make_substitution(
    summary: str, form: Form, matches: Callable[[Any], bool], setting: Mapping[str, Any], without: Collection[str]
) -> Deviation:
    """Return the deviation of a server that answers the matching requests as if their parameters were different.

    setting: the values of parameters in the other request. without: the parameters that it lacks.
    """

    def change(exchange: Exchange, run: RecordedRun) -> Exchange | None:
        body = exchange.request_json
        if not exchange.succeeded or (form == "stream") != exchange.is_stream:
            return None
        if not isinstance(body, dict) or not matches(body):
            return None
        other = {**{name: value for name, value in body.items() if name not in without}, **setting}
        return None if is_same(other, body) else _substitute(exchange, other, run)

    return Deviation(summary, form, change)


def _substitute(exchange: Exchange, body: dict[str, Any], run: RecordedRun) -> Exchange | None:
    """Return the exchange with the response to another request, or None if that one was not sent."""
    url = exchange.request.url
    found = [
        other
        for other in run.exchanges.values()
        if other.request.url == url and other.succeeded
        if other.request_json == body and is_same(other.request_json, body)
    ]
    if not found:
        return None
    source = min(found, key=lambda other: other.scenario != exchange.scenario)
    return replace(exchange, response=source.response)
