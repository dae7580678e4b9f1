"""Cut an invalid instance down to an excerpt, so that describing its errors costs little.

jsonschema-rs decides quickly whether an instance is valid, but it creates all errors at once, with all branches of
every `anyOf`: 300,000 invalid messages took 46 s. Long arrays are therefore cut first, to a few items or to the
shortest prefix that is still invalid. The remaining items keep their index, so that the path of an error is the same in
the excerpt and in the whole instance.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

import jsonschema_rs

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_ITEMS = 16  # longer arrays are cut
MAX_CUTS = 64  # arrays that are cut, the longest first
MAX_VALUES = 4096  # values of an excerpt that is searched for all errors; of a larger one only the first is found


def find_errors(validator: jsonschema_rs.Validator, instance: Any) -> Iterator[jsonschema_rs.ValidationError]:
    """Yield the errors of an instance, or of an excerpt that is invalid in the same places; nothing if it is valid.

    Each array that is cut costs one validity check, and one more for each bisection step if its first items are valid.
    Raises ValueError if the instance nests deeper than the validator supports (255 levels).
    """
    if validator.is_valid(instance):
        return
    excerpt = _Cutter(validator, instance).cut()
    if _count_values(excerpt) <= MAX_VALUES:
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


class _Cutter:
    """Cuts the arrays of one instance, the longest first, in copies of their parents; the instance is not changed."""

    def __init__(self, validator: jsonschema_rs.Validator, whole: Any) -> None:
        self._validator = validator
        self._root = [whole]  # a parent, because the instance itself may be an array
        self._waiting: list[tuple[int, int, Any, Any]] = []  # a heap of long arrays: (-length, order, parent, key)
        self._order = 0

    def cut(self) -> Any:
        """Return the excerpt."""
        self._queue_arrays(self._root, 0)
        for _ in range(MAX_CUTS):
            if not self._waiting:
                break
            *_, parent, key = heapq.heappop(self._waiting)
            first = self._shorten(parent, key, parent[key])
            kept = parent[key]
            for at in range(first, len(kept)):
                self._queue_arrays(kept, at)
        return self._root[0]

    def _queue_arrays(self, parent: Any, key: Any) -> None:
        """Queue the long arrays inside one value, but not those inside another long array."""
        pending = [(parent, key)]
        while pending:
            parent, key = pending.pop()
            value = parent[key]
            if isinstance(value, list) and len(value) > MAX_ITEMS:
                self._order += 1
                heapq.heappush(self._waiting, (-len(value), self._order, parent, key))
            elif isinstance(value, dict):
                parent[key] = value = dict(value)
                pending += [(value, name) for name, item in value.items() if isinstance(item, (dict, list))]
            elif isinstance(value, list):
                parent[key] = value = list(value)
                pending += [(value, at) for at, item in enumerate(value) if isinstance(item, (dict, list))]

    def _shorten(self, parent: Any, key: Any, items: list[Any]) -> int:
        """Cut an array in its parent; return the index of the first item that may be invalid."""
        if self._is_invalid(parent, key, items[:MAX_ITEMS]):
            return 0
        # All errors come later. Bisect until one item is left; all checks together cost about as much as two checks
        # of the whole array. An array that is merely too long is cut where it becomes too long.
        start, end = MAX_ITEMS, len(items)
        while end - start > 1:
            middle = (start + end) // 2
            if self._is_invalid(parent, key, items[start:middle]):
                end = middle
            else:
                start = middle
        if not self._is_invalid(parent, key, items[: start + 1]):
            parent[key] = list(items)  # only the whole array is invalid, which none of our keywords can cause: keep it
        return start

    def _is_invalid(self, parent: Any, key: Any, items: list[Any]) -> bool:
        """Return whether the instance is still invalid with these items in place of the array."""
        parent[key] = items
        return not self._validator.is_valid(self._root[0])


def _count_values(instance: Any) -> int:
    """Count the values in an instance; stop counting above MAX_VALUES."""
    count, waiting = 0, [instance]
    while waiting and count <= MAX_VALUES:
        item = waiting.pop()
        count += 1
        if isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return count
