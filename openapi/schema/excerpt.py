"""Excerpt: a broken instance, cut down until naming what is wrong with it costs little.

jsonschema-rs decides quickly whether an instance is valid, but it makes every error at once, with all the branches of
every `anyOf`: 300,000 wrong messages took 46 s. So long lists are cut first, to a few items or to the shortest
beginning that is still wrong; what stays keeps its place, so that a problem's path is the same in the whole instance.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

import jsonschema_rs

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 16  # items that a list may keep without need
MOST_CUTS = 64  # lists that are cut, the longest first
MOST_VALUES = 4096  # values in an excerpt of which every problem is looked for; beyond, only the first one


def errors_of(validator: jsonschema_rs.Validator, instance: Any) -> Iterator[jsonschema_rs.ValidationError]:
    """What is wrong with an instance, or with an excerpt of it that is wrong in the same places. Nothing: it is valid.

    Costs a check of validity for each list that is cut, and one for each halving where the fault comes late.
    Raises ValueError where the instance nests deeper than the validator follows (255 levels).
    """
    if validator.is_valid(instance):
        return
    excerpt = _Cut(validator, instance).made()
    if _values(excerpt) <= MOST_VALUES:
        yield from validator.iter_errors(excerpt)
        return
    error = _first_error(validator, excerpt)
    if error is not None:
        yield error


def _first_error(validator: jsonschema_rs.Validator, instance: Any) -> jsonschema_rs.ValidationError | None:
    try:
        validator.validate(instance)
    except jsonschema_rs.ValidationError as error:
        return error
    return None


class _Cut:
    """The cutting of one instance: longest lists first, each in a copy of its holder, so the instance stays whole."""

    def __init__(self, validator: jsonschema_rs.Validator, whole: Any) -> None:
        self._validator = validator
        self._root = [whole]  # a holder, so that the instance itself can be a list
        self._waiting: list[tuple[int, int, Any, Any]] = []  # a heap of long lists: (-length, order, holder, key)
        self._order = 0

    def made(self) -> Any:
        self._look_at(self._root, 0)
        for _ in range(MOST_CUTS):
            if not self._waiting:
                break
            *_, holder, key = heapq.heappop(self._waiting)
            first = self._shorten(holder, key, holder[key])
            kept = holder[key]
            for at in range(first, len(kept)):
                self._look_at(kept, at)
        return self._root[0]

    def _look_at(self, holder: Any, key: Any) -> None:
        """Notes the long lists of one value, through everything that is not a long list itself."""
        places = [(holder, key)]
        while places:
            holder, key = places.pop()
            value = holder[key]
            if isinstance(value, list) and len(value) > LONGEST:
                self._order += 1
                heapq.heappush(self._waiting, (-len(value), self._order, holder, key))
            elif isinstance(value, dict):
                holder[key] = value = dict(value)
                places += [(value, name) for name, item in value.items() if isinstance(item, (dict, list))]
            elif isinstance(value, list):
                holder[key] = value = list(value)
                places += [(value, at) for at, item in enumerate(value) if isinstance(item, (dict, list))]

    def _shorten(self, holder: Any, key: Any, items: list[Any]) -> int:
        """Cuts a list in its holder; returns the index from which its items may be wrong."""
        if self._is_wrong(holder, key, items[:LONGEST]):
            return 0
        # All faults come later. The stretch that holds one is halved until an item is left, so that all checks
        # together cost about two of the whole list. A list that is only too long ends where it becomes so.
        start, end = LONGEST, len(items)
        while end - start > 1:
            middle = (start + end) // 2
            if self._is_wrong(holder, key, items[start:middle]):
                end = middle
            else:
                start = middle
        if not self._is_wrong(holder, key, items[: start + 1]):
            holder[key] = list(items)  # wrong as a whole only, which no keyword of ours is: nothing to cut
        return start

    def _is_wrong(self, holder: Any, key: Any, items: list[Any]) -> bool:
        """Whether the instance is still wrong with these items in the place of the list."""
        holder[key] = items
        return not self._validator.is_valid(self._root[0])


def _values(instance: Any) -> int:
    """How many values an instance holds, counted up to just beyond MOST_VALUES."""
    count, waiting = 0, [instance]
    while waiting and count <= MOST_VALUES:
        item = waiting.pop()
        count += 1
        if isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return count
