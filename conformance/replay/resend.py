"""Replay: one recorded exchange sent again, and what differs between the two answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING, Any, Final

from conformance.client.call import Call
from conformance.client.request_builder import DEFAULT_HEADERS
from conformance.client.secret import alteration_in, marked
from conformance.errors import UsageError
from conformance.exchange import Exchange
from conformance.run.run import WRONG_KEY
from openapi.extra_headers import KEY_HEADER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.client.headers import Header

VOLATILE: Final = ("date", "x-request-id", "x-process-time", "set-cookie", "content-length")
CHANGING: Final = frozenset(
    (
        "id",
        "created",
        "cached_tokens",
        "batch_size",
        "queue_wait_time",
        "prefill_time",
        "decode_time",
        "decode_time_arr",
    )
)
"""Members of an answer that change from one request to the next by themselves: of these only the kind is compared."""
MOST_LINES: Final = 400
"""Lines of one answer that are compared."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What moved between two answers: lines of a unified diff; none when they say the same."""

    lines: tuple[str, ...]


def choose(results: dict[str, Any], identity: str) -> Exchange:
    """The exchange of that id, or the one that shows the first finding of the requirement of that id.

    Raises UsageError that names what there is.
    """
    recorded = {exchange["id"]: exchange for exchange in results["exchanges"]}
    if identity not in recorded:
        wanted = [row for row in results["requirements"] if identity in (row["id"], row["check"])]
        shown = [found["exchange"] for row in wanted for found in row["findings"]]
        steps = [name for name, each in recorded.items() if each["scenario"] == identity]
        if wanted and not shown:
            raise UsageError(f"--id {identity!r}: nothing was found against it, so there is nothing to send again")
        identity, asked = next(iter([*shown, *steps]), ""), identity
        if identity not in recorded:
            near = [name for name in recorded if asked.partition("/")[0] in name][:5] or list(recorded)[:5]
            raise UsageError(
                f"--id {asked!r} is no exchange, scenario or requirement here; for example {', '.join(near)}"
            )
    return Exchange.from_dict(recorded[identity])


def call_of(exchange: Exchange, *, with_key: bool, deadline_s: float, given: Iterable[Header] = ()) -> Call:
    """The request once more, byte for byte; the key stands where it stood, if there is one.

    The client sends the headers that are `given`: they stand for recorded ones of their names, unless that was a wrong
    key of the scenario's own. Raises UsageError for a secret that the client lacks, and where one was taken out of the
    URL or the body, for then nobody knows what was sent.
    """
    request = exchange.request
    if marked(request.body) or marked(request.url):
        raise UsageError(f"{exchange.id}: a secret was taken out of its URL or body; it cannot be sent again")
    headers = dict(request.headers)
    replaced = {header.name.lower() for header in given}
    hidden = [name for name, value in headers.items() if marked(value)]
    keyed = [name for name in hidden if name.lower() == KEY_HEADER]
    if keyed and not with_key:
        raise UsageError(f"{exchange.id} was sent with a key: name its variable with --api-key-env VAR")
    for name in hidden:
        if name not in keyed and name.lower() not in replaced:
            raise UsageError(
                f"{exchange.id} was sent with a secret header {name}: name its variable with --header-env {name}=VAR"
            )
    kept = {
        name: value
        for name, value in headers.items()
        if name.lower() not in ("host", "content-length", "connection")
        and name not in hidden
        and DEFAULT_HEADERS.get(name) != value
        and (name.lower() not in replaced or WRONG_KEY in value)
    }
    left = exchange.failure is not None and exchange.failure.kind == "disconnected-by-us"
    return Call(
        id=exchange.id,
        scenario=exchange.scenario,
        step=exchange.step,
        method=request.method,
        url=request.url,
        headers=kept,
        body=request.body,
        stop_after_events=len(exchange.events) if left else None,
        deadline_s=deadline_s,
        with_key=bool(keyed) and not any(WRONG_KEY in value for value in kept.values()),
        alteration=next((found for name in keyed if (found := alteration_in(headers[name]))), None),
    )


def difference(then: Exchange, now: Exchange) -> Difference:
    """What the two answers say differently: status, headers that do not change by themselves, and the body."""
    return Difference(tuple(unified_diff(list(_lines(then)), list(_lines(now)), "then", "now", lineterm="", n=2)))


def _lines(exchange: Exchange) -> Iterable[str]:
    """An answer as lines that can be compared."""
    if exchange.failure is not None:
        yield f"failure: {exchange.failure.kind}"
    if exchange.response is None:
        return
    yield f"status: {exchange.response.status}"
    headers = ((name.lower(), value) for name, value in exchange.response.headers)
    yield from sorted(f"{name}: {value}" for name, value in headers if name not in VOLATILE)
    if exchange.is_stream:
        pieces = [event.data for event in exchange.events]
        lines = [line for piece in pieces for line in ("", *_pretty(piece))]
    else:
        lines = ["", *_pretty(exchange.text)]
    yield from lines[:MOST_LINES]
    if len(lines) > MOST_LINES:
        yield f"({len(lines) - MOST_LINES} more lines)"


def _pretty(text: str) -> list[str]:
    try:
        return json.dumps(_steady(json.loads(text)), indent=1, ensure_ascii=False).splitlines()
    except (ValueError, RecursionError):
        return text.splitlines() or [""]


def _steady(value: Any) -> Any:
    """A JSON value with the kinds of what changes by itself instead of it."""
    if isinstance(value, dict):
        return {name: _kind(each) if name in CHANGING else _steady(each) for name, each in value.items()}
    return [_steady(each) for each in value] if isinstance(value, list) else value


def _kind(value: Any) -> Any:
    if isinstance(value, str) and value:
        return "(text)"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "(number)"
    return [_kind(each) for each in value] if isinstance(value, list) else value
