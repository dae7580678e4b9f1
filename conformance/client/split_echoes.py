"""Find secrets that a server splits over the events of a stream; only the joined text of the deltas shows them."""

from __future__ import annotations

import json
import re
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from openapi.stream import sse
from openapi.stream.accumulated_choice import is_index
from openapi.stream.anomaly import AnomalyKind
from openapi.stream.strict_json import NOT_JSON, read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from openapi.secret_search import SecretSearch

MAX_PLACES: Final = 10_000
"""Places of strings in the events of one stream; the events of a real one have a few hundred."""
MAX_STRINGS: Final = 16
"""Strings of one event that are replaced one by one; with more, the whole event is replaced."""
BETWEEN: Final = b"\0"
"""What separates the texts of two places; no form of a secret contains it."""

Edit = tuple[int, int, bytes]
"""Start, end, and the bytes to put there."""


class TooManyPlaces(Exception):
    """The events have strings at more places than are searched."""


@dataclass(slots=True)
class _PlaceText:
    """The strings at one place, joined: where each of them ends, and the event that it is part of."""

    text: bytearray = field(default_factory=bytearray)
    ends: array[int] = field(default_factory=lambda: array("Q"))
    events: array[int] = field(default_factory=lambda: array("L"))


def find_split_secrets(
    body: bytes, search: SecretSearch, marks: Sequence[bytes], check_time: Callable[[], None]
) -> list[Edit]:
    """Return the edits that remove split secrets from a stream. Raises TooManyPlaces."""
    if b"data" not in body:
        return []
    decoded = sse.decode([(0.0, body)])
    texts = _join_strings(decoded.events, check_time)
    hit = _find_hits(texts, search, check_time)
    edits: list[Edit] = []
    for at, (strings, secret) in sorted(hit.items()):
        stop = decoded.events[at + 1].offset if at + 1 < len(decoded.events) else len(body)
        edits += _blank(body, decoded.events[at].offset, stop, strings, marks[secret])
    unread = next((item for item in decoded.anomalies if item.kind is AnomalyKind.UNREAD_REST), None)
    if unread is not None:  # it may contain a secret, too
        edits = [edit for edit in edits if edit[1] <= unread.offset]
        edits.append((unread.offset, len(body), sse.encode(marks[0])))
    return edits


def _join_strings(events: Sequence[sse.Event], check_time: Callable[[], None]) -> list[_PlaceText]:
    """Return the text of each place that several events share."""
    ids: dict[tuple[int, str | int], int] = {}
    texts: dict[int, _PlaceText] = {}
    for at, event in enumerate(events):
        if at % 256 == 0:
            check_time()
        for place, string in _strings(read_json(event.data).value, event.data, ids):
            if len(ids) > MAX_PLACES:
                raise TooManyPlaces
            joined = texts.setdefault(place, _PlaceText())
            joined.text += string.encode(errors="replace")
            joined.ends.append(len(joined.text))
            joined.events.append(at)
    return [joined for joined in texts.values() if len(joined.ends) > 1]


def _strings(value: Any, data: str, ids: dict[tuple[int, str | int], int]) -> Iterator[tuple[int, str]]:
    """Yield every string of a JSON value that is not empty, with the number of its place.

    A list item with an `index` has that in its place. Data that is not JSON is one string.
    """
    if value is NOT_JSON:
        yield 0, data
        return
    rest: list[Iterator[tuple[int, Any]]] = [iter([(0, value)])]
    while rest:
        place, item = next(rest[-1], (-1, None))
        if place < 0:
            rest.pop()
        elif isinstance(item, str) and item:
            yield place, item
        elif isinstance(item, dict):
            rest.append(((_number(ids, place, name), field) for name, field in [*item.items()]))
        elif isinstance(item, list):
            rest.append(_items(item, place, ids))


def _items(items: list[Any], place: int, ids: dict[tuple[int, str | int], int]) -> Iterator[tuple[int, Any]]:
    for position, item in enumerate(items):
        index = item.get("index") if isinstance(item, dict) else None
        yield _number(ids, place, index if is_index(index) else position), item


def _number(ids: dict[tuple[int, str | int], int], parent: int, name: str | int) -> int:
    """Return the number of a place within another place; 0 is the whole value."""
    if len(ids) > MAX_PLACES:
        raise TooManyPlaces
    return ids.setdefault((parent, name), len(ids) + 1)


def _find_hits(
    texts: Sequence[_PlaceText], search: SecretSearch, check_time: Callable[[], None]
) -> dict[int, tuple[set[str], int]]:
    """Return, by event, the strings that are part of a secret, and which secret."""
    found = iter(search.find(BETWEEN.join(bytes(joined.text) for joined in texts), check_time))
    current = next(found, None)
    hit: dict[int, tuple[set[str], int]] = {}
    offset = 0
    for joined in texts:
        start = 0
        for end, event in zip(joined.ends, joined.events, strict=True):
            while current is not None and current.end <= offset + start:
                current = next(found, None)
            if current is not None and current.start < offset + end:
                strings, _ = hit.setdefault(event, (set(), current.secret))
                if len(strings) <= MAX_STRINGS:
                    strings.add(joined.text[start:end].decode(errors="replace"))
            start = end
        offset += len(joined.text) + len(BETWEEN)
    return hit


def _blank(body: bytes, start: int, stop: int, strings: set[str], mark: bytes) -> list[Edit]:
    """Replace JSON strings in one event; replace the whole event if one of them is escaped in an unknown way."""
    edits: list[Edit] = []
    for string in strings if len(strings) <= MAX_STRINGS else ():
        written = {json.dumps(string).encode(), json.dumps(string, ensure_ascii=False).encode()}
        spans = [
            (match.start() + 1, match.end() - 1)
            for form in written
            for match in re.finditer(re.escape(form), body[start:stop])
        ]
        if not spans:
            break
        edits += [(start + a, start + b, mark) for a, b in spans]
    else:
        if edits:
            return sorted(edits)
    return [(start, stop, sse.encode(mark))]
