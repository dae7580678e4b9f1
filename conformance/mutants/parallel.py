"""A server that cannot serve several clients at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.mutants.editing import cut
from conformance.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("parallel.all-answered")
def one_of_several_is_dropped(exchange: Exchange) -> Exchange:
    """One of several answers at the same time breaks off."""
    return cut(exchange)
