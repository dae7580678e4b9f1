"""Cache what is computed from recorded answers, within a limit on memory.

A parsed answer can take twenty times the memory of its body, so the views of all exchanges of a run are not kept with
them. Those of the exchanges that were looked at last are, up to an estimate of `MAX_COST`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_COST: Final = 32 * 1024 * 1024
"""Estimated bytes of all cached views. The views of one exchange are cached whatever they cost."""

Value = TypeVar("Value")


class Viewed(Protocol):
    """An object with cached views."""

    def estimate_view_cost(self) -> int:
        """Return roughly how many bytes all views take."""
        ...


class view(Generic[Value]):  # noqa: N801 - a decorator like `property`
    """A property of an exchange that is computed when first read, and again after it was dropped from the cache."""

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, exchange: None, owner: type) -> view[Value]: ...
    @overload
    def __get__(self, exchange: Any, owner: type) -> Value: ...
    def __get__(self, exchange: Any, owner: type) -> view[Value] | Value:
        """Return the value. Once cached, it is found in the exchange's own dictionary, and this is not called."""
        if exchange is None:
            return self
        value = exchange.__dict__[self._name] = self._compute(exchange)
        _CACHE.add(exchange, self._name)
        return value


class _ViewCache:
    """The exchanges that have cached views, the oldest first."""

    def __init__(self) -> None:
        self._names: OrderedDict[int, tuple[Viewed, int, set[str]]] = OrderedDict()
        self._cost = 0

    def add(self, exchange: Viewed, name: str) -> None:
        """Note a new view of an exchange, and drop the oldest views beyond the limit."""
        known = self._names.get(id(exchange))
        if known is None:
            known = self._names[id(exchange)] = (exchange, exchange.estimate_view_cost(), set())
            self._cost += known[1]
        known[2].add(name)
        self._names.move_to_end(id(exchange))
        while self._cost > MAX_COST and len(self._names) > 1:
            _, (oldest, cost, names) = self._names.popitem(last=False)
            self._cost -= cost
            for dropped in names:
                oldest.__dict__.pop(dropped, None)


_CACHE: Final = _ViewCache()
