"""Cache what is computed from recorded answers, within a limit on memory.

A parsed answer can take twenty times the memory of its body, so the views of all exchanges of a run are not kept with
them without a limit.
"""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar, overload
from weakref import ref

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_COST: Final = 96 * 1024 * 1024
"""Estimated bytes of all cached views. Those of one more exchange are cached, whatever they cost."""

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
    """The exchanges that have cached views.

    Judging looks at all exchanges again and again, in the same order. So those that were looked at first stay, and the
    views of an exchange beyond the limit are dropped when the next such exchange is looked at.
    """

    def __init__(self) -> None:
        self._costs: dict[int, tuple[int, ref[Viewed]]] = {}
        self._total = 0
        self._beyond: int | None = None
        self._names: set[str] = set()
        self._lock = RLock()  # runs are judged in several threads; an exchange may be collected inside of `add`

    def add(self, exchange: Viewed, name: str) -> None:
        """Note a new view of an exchange, and drop those of another exchange beyond the limit."""
        with self._lock:
            self._names.add(name)
            key = id(exchange)
            if key in self._costs:
                return
            if self._beyond is not None:
                self._drop(self._beyond)
            cost = exchange.estimate_view_cost()
            self._costs[key] = cost, ref(exchange, lambda _: self._forget(key))
            self._total += cost
            if self._total > MAX_COST:
                self._beyond = key

    def _drop(self, key: int) -> None:
        exchange = self._costs[key][1]()
        self._forget(key)
        for name in self._names if exchange is not None else ():
            exchange.__dict__.pop(name, None)

    def _forget(self, key: int) -> None:
        with self._lock:
            if (noted := self._costs.pop(key, None)) is not None:
                self._total -= noted[0]
            if self._beyond == key:
                self._beyond = None


_CACHE: Final = _ViewCache()
