"""Prepare exchanges for the page of a check: request, response, and streams as a waterfall of events."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from conformance.exchange import Exchange
from conformance.report.writers.evidence import neutralize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from openapi.stream.sse import Event

ALL_EXCHANGES: Final = 3_000_000
"""Characters of all requests and responses together; each exchange has an equal share."""
SHORTEST, LONGEST = 150, 4000
"""The fewest and the most characters of a request or response."""
LONGEST_EVENT: Final = 300
FIRST_EVENTS, LAST_EVENTS, AROUND = 5, 2, 1
"""How many events at the beginning, at the end, and next to a broken one are shown."""
NOT_IN_IDS: Final = re.compile(r"[^A-Za-z0-9._-]+")
EVENT_PLACE: Final = re.compile(r"/events/(\d+|-)")
LONGEST_ID: Final = 150


def make_id(kind: str, name: str, taken: set[str]) -> str:
    """Return a link target that differs from those that are taken, and take it."""
    base = f"{kind}-{NOT_IN_IDS.sub('_', name)[:LONGEST_ID]}"
    identity, number = base, 2
    while identity in taken:
        identity, number = f"{base}-{number}", number + 1
    taken.add(identity)
    return identity


def describe_exchanges(
    results: Mapping[str, Any], ids: Mapping[str, str], shows: Mapping[str, list[dict[str, str]]]
) -> Iterator[dict[str, Any]]:
    """Yield what the page shows of each exchange.

    ids: the link targets by the name of the exchange. shows: the requirements with findings in an exchange.
    """
    longest = max(SHORTEST, min(LONGEST, ALL_EXCHANGES // (4 * max(1, len(results["exchanges"])))))
    places: dict[str, set[str]] = {}
    for row in results["requirements"]:
        for finding in row["findings"]:
            if match := EVENT_PLACE.match(finding["where"]):
                places.setdefault(finding["exchange"], set()).add(match[1])
    for data in results["exchanges"]:
        exchange = Exchange.from_dict(data)
        broken = _broken_events(places.get(exchange.id, set()), len(exchange.events))
        duration = 0.0 if exchange.response is None else exchange.response.ended_at_s
        yield {
            "id": ids[exchange.id],
            "name": neutralize(exchange.id, LONGEST_EVENT),
            "line": _line(exchange),
            "shows": shows.get(exchange.id, []),
            "request": _request(exchange, longest),
            "response": _response(exchange, longest),
            "events": list(_events(exchange.events, broken, duration, min(longest, LONGEST_EVENT))),
            "event_count": len(exchange.events),
            "duration": _milliseconds(duration),
        }


def _line(exchange: Exchange) -> str:
    if exchange.response is None:
        return f"no response: {exchange.failure.kind if exchange.failure else 'unknown'}"
    cut = f", {exchange.failure.kind}" if exchange.failure else ""
    return f"{exchange.response.status} in {_milliseconds(exchange.response.ended_at_s)}{cut}"


def _request(exchange: Exchange, longest: int) -> str:
    request = exchange.request
    head = "\n".join(f"{name}: {value}" for name, value in request.headers if name.lower() != "host")
    body = request.body.decode(errors="replace")
    return neutralize(f"{request.method} {request.url}\n{head}\n\n{body}", longest)


def _response(exchange: Exchange, longest: int) -> str:
    """Return the response; of a stream only the head, because the events are listed."""
    failure = f"\n({exchange.failure.detail})" if exchange.failure else ""
    if exchange.response is None:
        return neutralize(f"no response{failure}", longest)
    head = "\n".join(f"{name}: {value}" for name, value in exchange.response.headers)
    body = "" if exchange.events else f"\n\n{exchange.text[: longest + 1]}"
    shown = neutralize(f"{exchange.response.status} {exchange.response.reason}\n{head}{body}", longest)
    return f"{shown}{neutralize(failure, longest)}"


def _broken_events(places: set[str], count: int) -> set[int]:
    """Return the numbers of the events with a finding; `-` is the place after the last event."""
    return {count - 1 if place == "-" else int(place) for place in places if len(place) < 7} & set(range(count))


def _events(events: Sequence[Event], broken: set[int], duration_s: float, longest: int) -> Iterator[dict[str, Any]]:
    """Yield the first, the last and the broken events with their places on a time line, and the number of others."""
    count = len(events)
    kept = {*range(FIRST_EVENTS), *range(count - LAST_EVENTS, count)}
    kept |= {near for number in sorted(broken)[:FIRST_EVENTS] for near in range(number - AROUND, number + AROUND + 1)}
    kept &= set(range(count))
    whole_s = max(duration_s, 1e-9)
    previous = -1
    for number in sorted(kept):
        if number > previous + 1:
            yield {"skipped": number - previous - 1}
        event = events[number]
        before_s = events[number - 1].at_s if number else 0.0
        left = min(99.0, max(0.0, 100 * before_s / whole_s))
        yield {
            "skipped": 0,
            "number": number,
            "at": _milliseconds(event.at_s),
            "left": f"{left:.1f}",
            "width": f"{min(100 - left, max(1.0, 100 * (event.at_s - before_s) / whole_s)):.1f}",
            "data": neutralize(event.data, longest),
            "broken": number in broken,
        }
        previous = number


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.1f} ms" if seconds < 1 else f"{seconds:,.2f} s"
