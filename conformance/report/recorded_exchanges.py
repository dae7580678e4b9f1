"""The exchanges of results.json, converted to JSON data one at a time, because all of them may take much memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from conformance.client.curl import KEY_VARIABLE, curl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.exchange import Exchange


class RecordedExchanges(Sequence[dict[str, Any]]):
    """A sequence of exchanges as JSON data, each with the curl command that repeats it.

    variable: the environment variable from which the commands read the API key.
    """

    def __init__(self, exchanges: Iterable[Exchange], variable: str = KEY_VARIABLE) -> None:
        self._exchanges = tuple(exchanges)
        self._variable = variable

    def __len__(self) -> int:
        return len(self._exchanges)

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, at: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        """Convert one exchange, or several."""
        if isinstance(at, slice):
            return [self._convert(exchange) for exchange in self._exchanges[at]]
        return self._convert(self._exchanges[at])

    def extend(self, others: RecordedExchanges) -> RecordedExchanges:
        """Return these exchanges and those of the others that have another id."""
        known = {exchange.id for exchange in self._exchanges}
        further = (item for item in others._exchanges if item.id not in known)
        return RecordedExchanges((*self._exchanges, *further), self._variable)

    def _convert(self, exchange: Exchange) -> dict[str, Any]:
        return {**exchange.to_dict(), "curl": curl(exchange, self._variable)}
